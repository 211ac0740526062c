"""Whether this machine is fast enough and ready."""

from __future__ import annotations

import importlib.util
import os
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path

from contact_stack.checks import Check

PACKAGES = ("contact_core", "tamsi_sim", "contact_aware_control")
PRECOMPILE = "python -m contact_stack.precompile"
CPUS_WANTED = 2
GOVERNORS = "/sys/devices/system/cpu"


def machine() -> Iterator[Check]:
    """Check compiled kernels, processors, and permissions for real time.

    Yields:
        The checks.
    """
    yield compiled_kernels()
    yield _processors()
    yield governor(Path(GOVERNORS))
    yield _real_time()


def compiled_kernels(packages: Iterable[str] = PACKAGES) -> Check:
    """Check the kernels of this installation, see :func:`kernel_cache`.

    Args:
        packages: Names of those that are checked.
    """
    specs = [importlib.util.find_spec(package) for package in packages]
    return kernel_cache([Path(spec.origin).parent for spec in specs if spec and spec.origin])


def kernel_cache(packages: Iterable[Path]) -> Check:
    """Check that the numeric kernels are compiled, and as their sources are now.

    Args:
        packages: Folders of the packages with kernels.

    Returns:
        The check.
    """
    # Most commands have no use for Numba, which takes half a second to import.
    from contact_core.base.kernel_cache import compiled_files

    name = "compiled kernels"
    modules = [
        (file, package.parent)
        for package in packages
        for file in sorted(package.rglob("*.py"))
        if "\n@kernel\n" in file.read_text()
    ]
    cold = [file.stem for file, root in modules if not compiled_files(file, root)]
    found = f"{len(modules) - len(cold)} of {len(modules)} modules are compiled"
    if cold:
        remedy = f"run `{PRECOMPILE}`; the first run does so otherwise, in silence, for minutes"
        return Check.warn(name, f"{found}, not: {', '.join(cold)}", remedy)
    return Check.ok(name, found)


def governor(folder: Path) -> Check:
    """Check that the processors are not slowed down to save power.

    Args:
        folder: Where the kernel describes the processors.

    Returns:
        The check.
    """
    name = "CPU governor"
    found = {f.read_text().strip() for f in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if not found:
        return Check.ok(name, "not reported, as in a virtual machine")
    if found == {"performance"}:
        return Check.ok(name, "performance")
    return Check.warn(
        name,
        f"{', '.join(sorted(found))}: real-time runs may miss deadlines",
        "sudo cpupower frequency-set -g performance",
    )


def _processors() -> Check:
    count = len(os.sched_getaffinity(0))
    if count >= CPUS_WANTED:
        return Check.ok("processors", str(count))
    return Check.warn(
        "processors", f"{count}: real-time runs will be slower than real time", "use lockstep:=true"
    )


def _real_time() -> Check:
    name = "real-time priority"
    _, highest = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if os.geteuid() == 0 or highest == resource.RLIM_INFINITY or highest > 0:
        return Check.ok(name, "permitted")
    return Check.warn(
        name,
        "not permitted: on hardware, deadlines may be missed under load",
        "add `@realtime - rtprio 98` and `@realtime - memlock unlimited` to "
        "/etc/security/limits.conf and yourself to that group",
    )
