"""Where compiled kernels are kept, and what tells that they are those of the sources at hand.

Numba believes in a cached function while the one file that holds it stays the same. But kernels
contain what they call, and numbers of other files. So a cached kernel carries a digest of its
module and of all modules that this one imports, directly or not: of what they hold, not of when or
where they were written, so that it may come with a wheel. With the digest stand the versions of
Python, Numba and llvmlite, the settings of Numba that change code, and the processor. What differs
in any of these is compiled again, never used.

A digest of all sources would be simpler, but then every edit would compile every kernel again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core import caching, types
from numba.core import config as numba_config
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

PACKAGES = (
    "contact_aware_control",
    "contact_core",
    "contact_experiments",
    "contact_ros",
    "contact_stack",
    "irs_planner",
    "robust_planner",
    "tamsi_sim",
)
"""The packages whose modules count in a digest, besides those of the kernel's own package."""

ONLY_PYTHON = ("contact_core.base.errors",)
"""Modules that nearly all others import, and no kernel takes anything from."""

config: Any = numba_config
SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "USING_SVML",
)

COMMON_PROCESSOR = "x86-64-v3"
"""What kernels are compiled for where the processor has it: Intel since 2013, AMD since 2015."""

_COMMON_FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt")

_ROOT = str(Path(__file__).parents[2])
_FOR_TYPES = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE
)
_NAME = re.compile(r"(?:^|[(,])\s*([\w.]+)", re.MULTILINE)

_digests: dict[tuple[str, str, int, int], tuple[dict[str, str], str | None, set[str]]] = {}


class KernelCache(caching.FunctionCache):
    """Compiled code of one kernel on disk.

    It is read beside the module, where a wheel has put it, and where Numba would keep it otherwise:
    in ``NUMBA_CACHE_DIR``, or in a folder of the user if the module's cannot be written.
    """

    def __init__(self, function: Any, module: str, others: Mapping[str, str], digest: str) -> None:
        """Look where code of a function may be.

        Args:
            function: The Python function.
            module: Name of its module.
            others: See :func:`source_digest`.
            digest: Of its sources.
        """
        super().__init__(function)
        self._sources = (module, os.path.abspath(function.__code__.co_filename), others)
        self._digest = digest
        base, version = self._impl.filename_base, _version(digest)
        first, *more = _folders(self._sources[1])
        shipped = [_CacheFile(folder, base, version, ()) for folder in more]
        self._cache_file = _CacheFile(first, base, version, shipped)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, unless its sources were edited since they were imported.

        It is as good without where nothing can be written.

        Args:
            sig: Types of the arguments.
            data: What was compiled.
        """
        if source_digest(*self._sources) == self._digest:
            with suppress(OSError):
                super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Tell functions of one name in a module apart, and named tuples by their fields, too."""
        line = self._py_func.__code__.co_firstlineno
        return (*super()._index_key(sig, codegen), line, _fields(sig))


def cache_of(function: Any) -> KernelCache | None:
    """Return where compiled code of a function is kept.

    Args:
        function: The Python function.

    Returns:
        The cache; None if its source is no module's file, as that of a cell of a notebook: nothing
        would tell that another cell, which it calls, is not what it was.
    """
    file = os.path.abspath(function.__code__.co_filename)
    if file != os.path.abspath(function.__globals__.get("__file__", "")):
        return None
    module = function.__module__
    if module == "__main__":
        module = getattr(function.__globals__.get("__spec__"), "name", None) or module
    try:
        status = os.stat(file)
    except OSError:
        return None
    # A module that is loaded again may be another one, and so may what it imports.
    key = (module, file, status.st_mtime_ns, status.st_size)
    if key not in _digests or function.__qualname__ in _digests[key][2]:
        others = {}
        for value in list(function.__globals__.values()):
            if isinstance(value, Dispatcher):
                called = value.py_func
                folder = _folder(called.__module__, called.__code__.co_filename)
                if folder is not None:
                    others[called.__module__.partition(".")[0]] = folder
        _digests[key] = (others, source_digest(module, file, others), set())
    others, digest, functions = _digests[key]
    functions.add(function.__qualname__)
    return None if digest is None else KernelCache(function, module, others, digest)


def compiled_files(file: Path, root: Path) -> list[Path]:
    """List the files with compiled kernels of a module that its sources would use.

    Args:
        file: The module, which need not be imported.
        root: Folder of its top-level package.
    """
    module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    digest = source_digest(module, str(file))
    found = []
    for folder in map(Path, _folders(str(file))):
        for index in sorted(folder.glob(f"{file.stem}.*-{processor()}.py*.nbi")):
            with suppress(Exception), index.open("rb") as content:
                if digest and pickle.load(content) == _version(digest):
                    found += [index, *folder.glob(f"{index.stem}.*.nbc")]
    return found


def source_digest(module: str, file: str, others: Mapping[str, str] | None = None) -> str | None:
    """Return a digest of a module and of all that it imports of the packages that count.

    What is imported for type checkers does not count, except by kernels, whose arguments have such
    types, and by an ``__init__`` that imports its names when they are asked for.

    Args:
        module: Its name.
        file: Its file.
        others: More packages that count: those of kernels that it calls -> their folders.

    Returns:
        The digest; None if there is no such file.
    """
    folders = {**dict.fromkeys(PACKAGES, _ROOT), **(others or {})}
    own = _folder(module, file)
    if own is not None:
        folders[module.partition(".")[0]] = own
    packages = tuple(sorted(folders.items()))
    # What belongs to no package, like a script, may import what lies beside it.
    beside = os.path.dirname(file) if "." not in module else None
    known: dict[str, bytes] = {}
    left = [(module, file)]
    while left:
        name, path = left.pop()
        if name in known:
            continue
        try:
            status = os.stat(path)
            key = (name, path, status.st_mtime_ns, status.st_size)
            known[name], imported = _read(*key, packages, beside)
        except OSError:
            return None
        left += imported
    return hashlib.sha256(repr(sorted(known.items())).encode()).hexdigest()


def _folder(module: str, file: str) -> str | None:
    """Return the folder a module's top-level package is in; None if its file is named otherwise."""
    inside = os.path.join("", *module.split("."))
    for end in (f"{os.sep}{inside}.py", os.path.join(os.sep + inside, "__init__.py")):
        if file.endswith(end):
            return file.removesuffix(end)
    return None


@cache
def _read(
    module: str,
    path: str,
    _modified: int,
    _size: int,
    packages: tuple[tuple[str, str], ...],
    beside: str | None,
) -> tuple[bytes, list[tuple[str, str]]]:
    """Return a digest of a module's file, and names and files of the modules that it imports."""
    content = Path(path).read_bytes()
    text = content.decode(errors="replace").replace("\\\n", " ")
    initial = path.endswith("__init__.py")
    if not initial and f"{__package__}.kernel" not in text:
        text = _FOR_TYPES.sub("", text)
    package = module.split(".")[: None if initial else -1]
    names: list[str] = []
    for source, parts, modules in _IMPORT.findall(text):
        if source:
            level = len(source) - len(source.lstrip("."))
            above = package[: len(package) + 1 - level] if level else []
            name = ".".join([*above, *filter(None, [source[level:]])])
            file = _file(name, packages, beside)
            names.append(name)
            if file is None or file.endswith("__init__.py"):
                names += [f"{name}.{part}" for part in _NAME.findall(parts)]
        for name in _NAME.findall(modules):
            within = name.split(".")
            names += [".".join(within[:count]) for count in range(1, len(within) + 1)]
    files = {name: _file(name, packages, beside) for name in names if name not in ONLY_PYTHON}
    found = [(name, file) for name, file in files.items() if file is not None]
    return hashlib.sha256(content).digest(), found


@cache
def _file(module: str, packages: tuple[tuple[str, str], ...], beside: str | None) -> str | None:
    """Return the file of a module of some packages, or of a single module in a folder."""
    folder = dict(packages).get(module.partition(".")[0])
    path = os.path.join(folder or beside or "", *module.split("."))
    if folder is not None and os.path.isfile(file := os.path.join(path, "__init__.py")):
        return file
    if folder is None and (beside is None or "." in module):
        return None
    return file if os.path.isfile(file := f"{path}.py") else None


@cache
def _version(digest: str) -> tuple[str, ...]:
    """Return what has to be equal for compiled code to be used."""
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    return (*versions, *(f"{name} {getattr(config, name)!r}" for name in SETTINGS), digest)


def _folders(file: str) -> list[str]:
    """List where code of a module is kept, then where it may be as well."""
    beside = os.path.join(os.path.dirname(file), "__pycache__")
    may_write = os.access(beside if os.path.isdir(beside) else os.path.dirname(file), os.W_OK)
    if may_write and not config.CACHE_DIR:
        return [beside]
    user = config.CACHE_DIR or AppDirs(appname="numba", appauthor=False).user_cache_dir
    inside = caching.UserProvidedCacheLocator.get_suitable_cache_subpath(file)
    return [os.path.join(user, inside), beside]


def _fields(kind: Any) -> tuple[Any, ...]:
    """Return the fields of named tuples in some types: Numba does not compare their names."""
    inside: Any = ()
    if isinstance(kind, types.StructRef):
        inside = kind.field_dict.values()
    elif isinstance(kind, tuple | types.BaseTuple):
        inside = kind
    names = kind.fields if isinstance(kind, types.NamedTuple | types.NamedUniTuple) else ()
    return (names, *map(_fields, inside))


def _choose_processor() -> None:
    """Have Numba compile for what nearly all processors can run, so that they can share code.

    Not if someone has chosen another one, or where Numba has compiled for this one already.
    """
    chosen = config.CPU_NAME is not None or config.CPU_FEATURES is not None
    if chosen or not config.ENABLE_AVX or platform.machine() != "x86_64":
        return
    features = binding.get_host_cpu_features()
    if "_toplevel_target_context" not in vars(cpu_target) and all(
        features.get(name) for name in _COMMON_FEATURES
    ):
        config.CPU_NAME, config.CPU_FEATURES = COMMON_PROCESSOR, ""


def processor() -> str:
    """Return what LLVM calls the processor that kernels are compiled for."""
    return str(config.CPU_NAME or binding.get_host_cpu_name())


class _Locator(caching._CacheLocator):
    """Tells Numba where to write, and names files for the processor, not for a line.

    What is compiled again after an edit then takes the place of what was.
    """

    def __init__(self, file: str) -> None:
        self._py_file = file

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        return cls(os.path.abspath(file))

    def get_cache_path(self) -> str:
        return _folders(self._py_file)[0]

    def get_source_stamp(self) -> None:
        return None

    def get_disambiguator(self) -> str:
        return processor()


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes: Any = (_Locator,)


KernelCache._impl_class = _Implementation


class _CacheFile(caching.IndexDataCacheFile):
    """Index and code of one kernel; what was cut short or cannot be read is compiled again."""

    def __init__(self, folder: str, base: str, version: Any, shipped: Sequence[Any]) -> None:
        super().__init__(folder, base, None)
        self._version = version
        self._base = base
        self._shipped = shipped

    def load(self, key: Any) -> Any:
        found = super().load(key)
        for file in self._shipped:
            found = file.load(key) if found is None else found
        return found

    def save(self, key: Any, data: Any) -> None:
        """Save code before the index that names it, and never other code by the same name."""
        digest = hashlib.sha256(dumps((self._version, key))).hexdigest()
        name = f"{self._base}.{digest[:16]}.nbc"
        with _alone(self._cache_path):
            self._save_data(name, data)
            overloads = {**self._load_index(), key: name}
            self._save_index(overloads)
            for path in Path(self._cache_path).glob(f"{self._base}.*.nbc"):
                if path.name not in overloads.values():
                    path.unlink(missing_ok=True)

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except Exception:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except Exception as error:
            # To Numba a file that is gone.
            raise OSError(f"{name} cannot be read") from error


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Keep other processes from writing to a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some file systems of networks have no locks.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


_choose_processor()
