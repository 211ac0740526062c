"""The launch files' subset: what ``ros2 launch`` would do, or a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from contact_core.base.errors import LaunchError
from contact_core.base.files import share
from contact_stack.launch import declared_arguments, parse
from contact_stack.launch.parser import typed_value
from contact_stack.launch.substitutions import evaluate

NODE = '<node pkg="p" exec="e" name="{}"/>'


def names(plan) -> list[str]:
    return [node.name for node in plan.nodes]


def test_a_node_has_everything_the_file_says(launch_file, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").touch()
    file = launch_file(
        f"""
        <arg name="robot" default="lbr"/>
        <node pkg="p" exec="e" name="n" namespace="$(var robot)" args="--fast 'a b'"
              output="screen" on_exit="shutdown">
          <param from="{tmp_path}/values.yaml"/>
          <param name="seed" value="3"/>
          <remap from="state" to="$(var robot)_state"/>
        </node>"""
    )
    (node,) = parse(file, {}).nodes
    assert (node.package, node.executable, node.name, node.label) == ("p", "e", "n", "n")
    assert node.namespace == "/lbr"
    assert node.arguments == ("--fast", "a b")
    assert node.parameters == (tmp_path / "values.yaml", {"seed": 3})
    assert node.remappings == (("state", "lbr_state"),)
    assert node.ends_launch


@pytest.mark.parametrize(
    ("attributes", "delay"),
    [("", None), ('respawn="false" respawn_delay="1"', None), ('respawn="true"', 0.0),
     ('respawn="true" respawn_delay="0.5"', 0.5)],
)  # fmt: skip
def test_a_node_may_be_restarted(launch_file, attributes: str, delay: float | None) -> None:
    (node,) = parse(launch_file(f'<node pkg="p" exec="e" {attributes}/>'), {}).nodes
    assert node.respawn_delay == delay


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("1", 1),
        ("1.0", 1.0),
        ("1e-3", "1e-3"),  # PyYAML wants a point; ROS reads the number from the file again
        ("1.0e-3", 1e-3),
        ("mug", "mug"),
        ("'1'", "1"),
        ("[1, 2]", [1, 2]),
        ("[a, b]", ["a", "b"]),
        ("", ""),
    ],
)
def test_parameter_values_have_the_type_of_yaml(text: str, value: object) -> None:
    assert typed_value(text) == value
    assert type(typed_value(text)) is type(value)


@pytest.mark.parametrize("text", ["{a: 1}", "[]", "[1, a]", "[1", "2024-01-01"])
def test_values_that_are_no_parameter_are_refused(text: str) -> None:
    with pytest.raises(LaunchError, match="no parameter value"):
        typed_value(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$(var x)", "7"),
        ("a $(var x) b", "a 7 b"),
        ("$(var missing fallback)", "fallback"),
        ("$(var missing '')", ""),
        ("$(env SET)", "on"),
        ("$(env UNSET off)", "off"),
        ("$(var $(var name))", "7"),
        ("$(eval '$(var x) + 1')", "8"),
        ("$(eval \"'$(var name)' == 'x'\")", "True"),
        ("\\$(var x)", "$(var x)"),
        ("cost 5 $ (x)", "cost 5 $ (x)"),
    ],
)
def test_substitutions(launch_file, monkeypatch, text: str, value: str) -> None:
    monkeypatch.setenv("SET", "on")
    monkeypatch.delenv("UNSET", raising=False)
    quoted = text.replace('"', "&quot;")
    file = launch_file(
        '<let name="x" value="7"/><let name="name" value="x"/>'
        f'<let name="result" value="{quoted}"/>'
        '<node pkg="p" exec="$(var result)"/>'
    )
    assert parse(file, {}).nodes[0].executable == value


def test_find_pkg_share_finds_other_packages_by_the_ament_index(
    launch_file, make_executable, tmp_path: Path
) -> None:
    file = launch_file('<node pkg="p" exec="$(find-pkg-share throw_away)"/>')
    expected = tmp_path / "prefix/share/throw_away"
    assert parse(file, {}).nodes[0].executable == str(expected)


def test_a_command_gives_what_it_prints(launch_file, make_executable) -> None:
    make_executable("say", "print(sys.argv[1], end='')")
    text = "$(command '$(exec-in-pkg say throw_away) hello')"
    file = launch_file(f'<node pkg="p" exec="{text}"/>')
    assert parse(file, {}).nodes[0].executable == "hello"


def test_a_command_that_fails_or_complains_is_an_error(launch_file, make_executable) -> None:
    make_executable("fail", "sys.exit('no such driver')")
    make_executable("complain", "print('careful', file=sys.stderr)")
    missing = ("missing", "cannot run")
    for name, message in (("fail", "no such driver"), ("complain", "careful"), missing):
        text = f"$(command '$(exec-in-pkg {name} throw_away)')"
        file = launch_file(f'<node pkg="p" exec="{text}"/>')
        with pytest.raises(LaunchError, match=message):
            parse(file, {})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("not (1 < 2)", "False"),
        ("'a' in ['a', 'b']", "True"),
        ("'x' if True and False else 'y'", "y"),
        ("-1.5", "-1.5"),
        ("1 == 2 or 3 != 4", "True"),
    ],
)
def test_expressions(expression: str, value: str) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "().__class__",
        "[1][0]",
        "lambda: 1",
        "[x for x in [1]]",
        "x",
        "10 ** 10",
        "1 +",
        "1 / 0",
        "1 + 'a'",
        "f'{1}'",
    ],
)
def test_expressions_can_do_nothing_but_calculate(expression: str) -> None:
    with pytest.raises(LaunchError):
        evaluate(expression)


@pytest.mark.parametrize(
    ("attribute", "kept"),
    [
        ('if="true"', True),
        ('if="0"', False),
        ('unless="False"', True),
        ('unless="1"', False),
        ("if=\"$(eval '2 > 1')\"", True),
    ],
)
def test_conditions(launch_file, attribute: str, kept: bool) -> None:
    file = launch_file(f"<group {attribute}>{NODE.format('n')}</group>")
    assert names(parse(file, {})) == (["n"] if kept else [])


def test_environment_variables_are_those_set_before_a_node(launch_file) -> None:
    set_env = '<set_env name="A" value="$(var x)"/>'
    body = '<let name="x" value="1"/>' + NODE.format("before")
    body += f"<group>{set_env}{NODE.format('inside')}</group>{NODE.format('after')}"
    before, inside, after = parse(launch_file(body), {}).nodes
    assert (before.environment, inside.environment, after.environment) == ({}, {"A": "1"}, {})


def test_a_group_keeps_its_changes_to_itself_and_an_include_does_not(launch_file) -> None:
    launch_file('<arg name="x" default="inner"/>' + NODE.format("$(var x)"), "inner.launch.xml")
    inner = launch_file("", "inner2.launch.xml").parent / "inner.launch.xml"
    include = f'<include file="{inner}"><arg name="x" value="passed"/></include>'
    group = launch_file(
        f'<let name="x" value="outer"/><group>{include}</group>{NODE.format("$(var x)")}'
    )
    assert names(parse(group, {})) == ["passed", "outer"]
    plain = launch_file(f'<let name="x" value="outer"/>{include}{NODE.format("$(var x)")}')
    assert names(parse(plain, {})) == ["passed", "passed"]
    seen = launch_file(f'<let name="x" value="outer"/><include file="{inner}"/>')
    assert names(parse(seen, {})) == ["outer"]


def test_arguments_are_listed_with_default_description_and_choices(launch_file) -> None:
    file = launch_file(
        '<arg name="a" default="x" description="An a."><choice value="x"/><choice value="y"/></arg>'
        '<arg name="b"/>'
    )
    a, b = declared_arguments(file)
    assert (a.name, a.default, a.description, a.choices) == ("a", "x", "An a.", ("x", "y"))
    assert (b.name, b.default, b.description, b.choices) == ("b", None, "", ())


BAD_FILES = {
    "unknown element <executable> in <launch>": "<executable cmd='ls'/>",
    "unknown element <env> in <node>": "<node pkg='p' exec='e'><env name='a' value='b'/></node>",
    "unknown attribute 'cwd' of <node>": "<node pkg='p' exec='e' cwd='/'/>",
    "node '2lbr' is no name in ROS": "<node pkg='p' exec='e' namespace='2lbr'/>",
    "node 'a b' is no name in ROS": (
        "<node pkg='p' exec='e'><remap from='/clock' to='a b'/></node>"
    ),
    'respawn="maybe" is unknown': "<node pkg='p' exec='e' respawn='maybe'/>",
    'respawn_delay="-1" is no time': "<node pkg='p' exec='e' respawn='true' respawn_delay='-1'/>",
    "unknown attribute 'type' of <param>": (
        "<node pkg='p' exec='e'><param name='a' value='1' type='str'/></node>"
    ),
    r"unknown substitution '\$\(dirname": "<let name='x' value='$(dirname)'/>",
    r"unknown substitution '\$\(anon": (
        "<group if='false'><let name='x' value='$(anon x)'/></group>"
    ),
    "unknown element <push-ros-namespace> in <group>": (
        "<group if='false'><push-ros-namespace namespace='x'/></group>"
    ),
    "<node> needs the attribute 'exec'": "<node pkg='p'/>",
    'output="tty" is unknown': "<node pkg='p' exec='e' output='tty'/>",
    "'if' and 'unless' exclude each other": "<group if='1' unless='1'/>",
    'if="maybe" is no truth value': "<group if='maybe'/>",
    r"\$\(var y\) is not set": "<let name='x' value='$(var y)'/>",
    "takes 1 or 2 arguments, got 3": "<let name='x' value='$(var a b c)'/>",
    r"\$\( is not closed": "<let name='x' value='$(var a'/>",
    "'NAME_NOT_SET' is not set": "<let name='x' value='$(env NAME_NOT_SET)'/>",
    "package 'no_such' is not installed": "<let name='x' value='$(find-pkg-share no_such)'/>",
    "no launch file /no/such": "<include file='/no/such'/>",
    "no parameter file /no/such": "<node pkg='p' exec='e'><param from='/no/such'/></node>",
    "is no parameter value": "<node pkg='p' exec='e'><param name='a' value='{}'/></node>",
    "argument 'a' must be given: An a": "<arg name='a' description='An a.'/>",
    r"argument 'a' is 'z' \(valid: x, y\)": (
        "<arg name='a' default='z'><choice value='x'/><choice value='y'/></arg>"
    ),
    "not valid XML": "<node",
}


@pytest.mark.parametrize("message", BAD_FILES)
def test_anything_outside_the_subset_is_named_with_its_file_and_line(
    launch_file, message: str
) -> None:
    file = launch_file("\n" + BAD_FILES[message])
    with pytest.raises(LaunchError, match=message) as caught:
        parse(file, {})
    assert "\n" not in str(caught.value)
    if "not valid XML" not in message:
        assert str(caught.value).startswith(f"{file}:3: ")


def test_a_file_with_another_root_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text("<robot/>")
    with pytest.raises(LaunchError, match="<robot> instead of <launch>"):
        parse(file, {})


def test_a_file_that_is_missing_or_includes_itself_is_refused(launch_file, tmp_path) -> None:
    with pytest.raises(LaunchError, match="cannot read"):
        parse(tmp_path / "none.launch.xml", {})
    file = launch_file(f'<include file="{tmp_path}/test.launch.xml"/>')
    with pytest.raises(LaunchError, match="includes itself"):
        parse(file, {})


def test_an_argument_the_file_does_not_have_is_named(launch_file) -> None:
    file = launch_file('<arg name="seed" default="0"/>')
    meant = r"unknown argument 'sed' \(did you mean seed\? valid: seed\)"
    with pytest.raises(LaunchError, match=meant):
        parse(file, {"sed": "1"})


def test_our_own_launch_files_are_short() -> None:
    for file in share("launch").glob("*.launch.xml"):
        assert len(file.read_text().splitlines()) <= 40


CONTROL = {"contact_estimator", "contact_aware_controller"}
PLANNERS = {"irs_planner", "object_mover", "robust_planner"}


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("control", CONTROL),
        ("sim", CONTROL | {"tamsi_sim", "robot_frames"}),
        ("demo", CONTROL | {"tamsi_sim"}),
        ("planners", PLANNERS),
    ],
)
def test_our_own_launch_files_start_their_nodes(name: str, nodes: set[str]) -> None:
    file = share("launch", f"{name}.launch.xml")
    values = {"seed": "7", "view": "false"} if name in ("sim", "demo") else {}
    started = {node.name: node for node in parse(file, values).nodes}
    assert set(started) == nodes
    assert {node.namespace for node in started.values()} == {"/lbr"}
    if values:
        for parameter in ({"seed": 7}, {"lockstep": False}):
            assert parameter in started["tamsi_sim"].parameters
        assert "viewer" in [node.name for node in parse(file, {"view": "true"}).nodes]
