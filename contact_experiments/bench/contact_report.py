"""The contact benchmark's figures as tables and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from contact_experiments.bench.contact_figures import PairRow, Row, SpeedRow

LARGEST_SHOWN = 10.0
"""Errors [cm, N] are drawn up to here; also those of contacts that are not found."""


def render(rows: Sequence[Row], pairs: Sequence[PairRow], speeds: Sequence[SpeedRow]) -> str:
    """Show everything as tables."""
    lines = [
        f"{'link':12} {'noise':>6} {'bias':>5} {'mu <':>5} {'loc p50':>8} {'p90':>6} "
        f"{'force p50':>9} {'settling p90':>12} {'link':>6} {'ident.':>6} {'mislead.':>8} "
        f"{'places':>6}",
        f"{'':12} {'[Nm]':>6} {'[Nm]':>5} {'':>5} {'[cm]':>8} {'[cm]':>6} {'[N]':>9} "
        f"{'[s]':>12} {'[%]':>6} {'[%]':>6} {'[%]':>8} {'':>6}",
    ]
    for r in rows:
        s = r.setting
        lines.append(
            f"{s.link:12} {s.noise:6.1f} {s.bias:5.1f} {s.friction:5.1f} "
            f"{100 * r.location_p50:8.2f} {100 * r.location_p90:6.1f} {r.force_p50:9.2f} "
            f"{r.settling_p90:12.3f} {100 * r.right_link:6.1f} {100 * r.identifiable:6.1f} "
            f"{100 * r.misleading:8.1f} {r.modes:6.2f}"
        )
    lines.append(
        f"\n{'second contact, 0.3 Nm':26} {'first':>6} {'second':>7} "
        f"{'<= 5 cm':>8} {'two':>6} {'ended':>6}"
    )
    lines.append(f"{'':26} {'[cm]':>6} {'[cm]':>7} {'[%]':>8} {'[%]':>6} {'[%]':>6}")
    for p in pairs:
        lines.append(
            f"{p.first + ', ' + p.second:26} {100 * p.first_p50:6.1f} {100 * p.second_p50:7.1f} "
            f"{100 * p.found:8.1f} {100 * p.two:6.1f} {100 * p.ended:6.1f}"
        )
    lines.append(f"\n{'particles':>10} {'p50 [ms]':>10} {'p99 [ms]':>10} {'particles/s':>12}")
    for v in speeds:
        lines.append(
            f"{v.particles:10d} {v.p50_ms:10.3f} {v.p99_ms:10.3f} {v.particles_per_second:12.3g}"
        )
    return "\n".join(lines)


def plot(rows: Sequence[Row], pairs: Sequence[PairRow], path: Path) -> None:
    """Draw errors, honesty and second contacts.

    Args:
        rows: Single contacts.
        pairs: Second contacts.
        path: The PNG to write.
    """
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    usual = [r for r in rows if r.setting.bias == 0.0 and r.setting.friction == 0.3]
    links = list(dict.fromkeys(r.setting.link for r in usual))
    numbers = np.arange(len(links))
    for i, noise in enumerate(sorted({r.setting.noise for r in usual})):
        chosen = [r for r in usual if r.setting.noise == noise]
        at = numbers + 0.25 * (i - 1)
        location = np.minimum([100 * r.location_p50 for r in chosen], LARGEST_SHOWN)
        force = np.minimum([r.force_p50 for r in chosen], LARGEST_SHOWN)
        axes[0, 0].bar(at, location, 0.23, label=f"{noise} Nm")
        axes[0, 1].bar(at, force, 0.23, label=f"{noise} Nm")
        axes[1, 0].bar(at, [100 * r.identifiable for r in chosen], 0.23, label=f"{noise} Nm")
    titles = (
        (axes[0, 0], "median location error [cm], cut off", LARGEST_SHOWN),
        (axes[0, 1], "median force error [N], cut off", LARGEST_SHOWN),
        (axes[1, 0], "called identifiable [%]", 100.0),
    )
    for axis, title, top in titles:
        axis.set_title(title, fontsize=10)
        axis.set_xticks(numbers, [link.removeprefix("lbr_") for link in links], fontsize=8)
        axis.set_ylim(0.0, top)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(title="torque noise", fontsize=8, title_fontsize=8)
    names = [f"{p.first[-1]} then {p.second[-1]}" for p in pairs]
    axes[1, 1].bar(names, [100 * p.found for p in pairs], 0.5, color="#0b6e99")
    axes[1, 1].set_ylim(0.0, 100.0)
    axes[1, 1].set_title("second contact found within 5 cm [%], links, 0.3 Nm", fontsize=10)
    axes[1, 1].grid(axis="y", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
