"""Where the model of an import comes from: files, packages, xacro files with arguments."""

import pytest

from contact_core.base.errors import ConfigError, ModelError
from contact_stack import cli
from contact_stack.arm_import.source import find_model, read_source


def test_options_and_arguments_of_a_xacro_file_come_in_any_order(tmp_path, capsys):
    words = ["import", "arm.urdf.xacro", "--name", "left", "side:=left", "--out", str(tmp_path)]
    assert cli.main(words) == cli.EXIT_ERROR
    assert "no file arm.urdf.xacro" in capsys.readouterr().err


def test_models_of_installed_packages_are_found_by_name():
    with pytest.raises(ConfigError, match=r"not installed.*pip install"):
        find_model("no_such_package:arm")
    with pytest.raises(ConfigError, match="valid: a path"):
        find_model("no_such.urdf")


def test_a_xacro_file_is_expanded_with_arguments_and_includes(tmp_path):
    pytest.importorskip("xacro")
    package = tmp_path / "pkg"
    package.mkdir()
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    macro = '<xacro:macro name="part" params="id"><link name="${id}_link"/></xacro:macro>'
    (package / "part.xacro").write_text(f"{head}{macro}</robot>")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        f'{head}<xacro:arg name="side" default="left"/>'
        '<xacro:include filename="$(find pkg)/part.xacro"/><xacro:part id="$(arg side)"/></robot>'
    )
    names = [
        [link.get("name") for link in read_source(file, (), arguments).robot.findall("link")]
        for arguments in ({}, {"side": "right"})
    ]
    assert names == [["left_link"], ["right_link"]]
    file.write_text(file.read_text().replace("find pkg", "find nowhere"))
    with pytest.raises(ModelError) as error:
        read_source(file)
    assert str(error.value).count("no package 'nowhere'") == 1
    # A folder may be called otherwise than the package in it, as a clone often is.
    (package / "package.xml").write_text("<package><name> nowhere </name></package>")
    package.rename(tmp_path / "clone-main")
    with pytest.raises(ModelError, match="package path"):
        read_source(file)
    for root in (tmp_path, tmp_path / "clone-main"):
        assert read_source(file, (root,)).robot.find("link").get("name") == "left_link"


def test_arguments_that_a_xacro_file_does_not_have_are_refused(tmp_path):
    pytest.importorskip("xacro")
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (tmp_path / "part.xacro").write_text(f'{head}<xacro:arg name="color" default="red"/></robot>')
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        f'{head}<xacro:arg name="mass" default="1"/><xacro:arg name="side" default="left"/>'
        f'<xacro:include filename="{tmp_path}/part.xacro"/>'
        '<link name="$(arg side)_$(arg bare)_$(eval free)"/></robot>'
    )
    valid = {"mass": "3", "color": "blue", "side": "right", "bare": "1", "free": "2"}
    assert read_source(file, (), valid).robot.find("link").get("name") == "right_1_2"
    with pytest.raises(
        ConfigError,
        match=r"arm.urdf.xacro has no argument 'mas' \(did you mean mass\? "
        r"valid: bare, color, free, mass, side\)",
    ):
        read_source(file, (), {**valid, "mas": "3"})
