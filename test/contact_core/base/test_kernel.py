"""Kernels: what Python can call, what it cannot, and when compiled code is used again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bootstrap.setup_project import package_folders
from contact_core.base import errors, kernel_cache
from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.rigid_body.kinematics import cross

ROOT = Path(__file__).parents[3]


@inner_kernel
def _double(x: float) -> float:
    return 2.0 * x


@kernel
def _quadruple(x: float) -> float:
    return _double(_double(x))


CALLER = """
from contact_core.base.kernel import kernel
from kernels.callee import times

@kernel
def product(pair):
    return times(pair.first)
"""
CALLEE = """
from contact_core.base.kernel import inner_kernel
from .factor import FACTOR

@inner_kernel
def times(x):
    return FACTOR * x
"""
PAIR = """
from typing import NamedTuple

class Pair(NamedTuple):
    first: int
    second: int
"""
SOURCES = {"caller": CALLER, "callee": CALLEE, "factor": "FACTOR = 2\n", "pair": PAIR}
PROGRAM = """
from kernels.caller import product
from kernels.pair import Pair
result = product(Pair(4, 5))
print(result, sum(product.stats.cache_misses.values()), "compiled")
"""


def run(folder: Path, program: str = PROGRAM, **variables: str) -> str:
    """Run a program with the kernels of a folder, and nothing else that was compiled."""
    environment = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def cached(folder: Path, kind: str = "nb?") -> list[Path]:
    return sorted(folder.glob(f"**/caller.product*.{kind}"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with kernels that were compiled."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "kernels").mkdir()
    for name, text in SOURCES.items():
        (folder / f"kernels/{name}.py").write_text(text)
    assert run(folder) == "8 1 compiled"
    assert len(cached(folder)) == 2
    return folder


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """The same in another place, with other dates."""
    folder = tmp_path / "copied"
    shutil.copytree(built, folder, copy_function=shutil.copyfile)
    return folder


def test_what_was_compiled_elsewhere_of_the_same_sources_is_used(copied: Path):
    assert run(copied) == "8 0 compiled"


def test_it_is_used_where_nothing_can_be_written(copied: Path):
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + PROGRAM
    assert run(copied, full, NUMBA_CACHE_DIR=str(copied / "other")) == "8 0 compiled"
    for path in cached(copied):
        path.unlink()
    assert run(copied, full) == "8 1 compiled"
    assert cached(copied) == []


def test_a_folder_that_cannot_be_written_is_read_after_that_of_the_user(monkeypatch):
    file = kernel_cache.__file__
    (beside,) = kernel_cache._folders(file)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    user, last = kernel_cache._folders(file)
    assert last == beside == f"{Path(file).parent}/__pycache__"
    assert user.startswith(str(Path.home()))


@pytest.mark.parametrize(
    ("file", "edit", "result"),
    [
        ("kernels/factor.py", ("2", "3"), "12 1 compiled"),
        ("kernels/callee.py", ("FACTOR *", "FACTOR +"), "6 1 compiled"),
    ],
)
def test_an_edit_of_what_a_kernel_calls_is_seen(copied: Path, file, edit, result):
    path = copied / file
    path.write_text(path.read_text().replace(*edit))
    assert run(copied) == result
    assert len(cached(copied)) == 2, "what was compiled before is removed"


def test_a_named_tuple_with_other_fields_is_another_one(copied: Path):
    (copied / "kernels/pair.py").write_text(
        PAIR.replace("first", "x").replace("second", "first").replace("x", "second")
    )
    assert run(copied) == "10 1 compiled"


def test_what_was_edited_and_loaded_again_is_not_kept(copied: Path):
    path = copied / "kernels/factor.py"
    before = path.read_text()
    edit = f"""
from importlib import reload
from kernels import caller, callee, factor
open({str(path)!r}, "w").write("FACTOR = 5")
reload(factor)
caller.times = reload(callee).times
"""
    for cache in cached(copied):
        cache.unlink()
    assert run(copied, edit + PROGRAM) == "20 1 compiled"
    path.write_text(before)
    assert run(copied) == "8 1 compiled"


@pytest.mark.parametrize(
    "variables",
    [
        {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
        pytest.param(
            {"NUMBA_CPU_NAME": kernel_cache.COMMON_PROCESSOR, "NUMBA_CPU_FEATURES": "-fma"},
            marks=pytest.mark.verify,
        ),
        {"NUMBA_BOUNDSCHECK": "1"},
    ],
)
def test_code_for_another_processor_or_setting_is_not_used(copied: Path, variables):
    processor = kernel_cache.processor()
    (index,) = cached(copied, "nbi")
    # As if it were for that one.
    other = variables.get("NUMBA_CPU_NAME", processor)
    index.rename(index.with_name(index.name.replace(processor, other)))
    assert run(copied, **variables) == "8 1 compiled"
    assert run(copied, **variables) == "8 0 compiled"


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("nbi", 0.5),
        ("nbc", 0.0),
        *(pytest.param(*case, marks=pytest.mark.verify) for case in (("nbi", 0.0), ("nbc", 0.5))),
    ],
)
def test_compiled_code_that_was_cut_short_is_compiled_again(kind, share, copied: Path):
    (path,) = cached(copied, kind)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert run(copied) == "8 1 compiled"
    # How long it is differs by some bytes from process to process.
    (path,) = cached(copied, kind)
    assert len(path.read_bytes()) > 0.9 * len(whole)


def test_what_is_in_no_file_is_compiled_and_not_kept():
    cell = {"kernel": kernel}
    exec("@kernel\ndef thrice(x):\n    return 3 * x", cell)
    assert cell["thrice"](2) == 6
    assert cell["thrice"].stats.cache_path is None


PACKAGE = {
    "__init__": "if TYPE_CHECKING:\n    from models.lazy import A\n",
    "all": "from models import B\nfrom models.a import (\n    A,  # comment\n    B as C,\n)\n"
    "if TYPE_CHECKING:\n    from models.types import T\n\nimport numpy, models.d as d\n",
    "a": "from . import b, \\\n    c\n",
    **dict.fromkeys(["b", "c", "d", "lazy", "types", "unused"], ""),
}


def test_a_digest_is_of_all_that_is_imported(tmp_path: Path):
    folder = tmp_path / "models"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text)

    def digest() -> str | None:
        return kernel_cache.source_digest("models.all", str(folder / "all.py"))

    before = digest()
    assert before is not None
    seen = []
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(f"{text}\n# edited")
        seen += [name] if digest() != before else []
        (folder / f"{name}.py").write_text(text)
        assert digest() == before
    assert seen == ["__init__", "all", "a", "b", "c", "d", "lazy"]


def test_all_packages_count_in_a_digest():
    assert set(kernel_cache.PACKAGES) == {folder.name for folder in package_folders()}


def test_what_does_not_count_has_nothing_that_kernels_use():
    own = [value for name, value in vars(errors).items() if not name.startswith("__")]
    assert not [value for value in own if isinstance(value, int | float | tuple)]
    classes = [value for value in own if getattr(value, "__module__", "") == errors.__name__]
    assert all(issubclass(c, Exception | Warning) for c in classes if isinstance(c, type))


def test_an_inner_kernel_is_for_kernels_and_refuses_python():
    assert _quadruple(1.5) == 6.0
    with pytest.raises(TypeError, match=r"_double is an inner kernel: kernels call it"):
        _double(1.5)
    with pytest.raises(TypeError, match=r"kinematics\.cross is an inner kernel"):
        cross(np.zeros(3), np.zeros(3))
