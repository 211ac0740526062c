"""How wide the samples spread, iteration by iteration: eta(Sigma_0, k) of Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter


@dataclass(frozen=True, kw_only=True)
class VarianceSchedule:
    """Standard deviations of iteration k = 1, 2, ...: std_k = std_1 scale(k).

    A power scale is k^-rate, a geometric one rate^(k - 1). The floor keeps late samples
    from collapsing to rounding errors, where zero-order estimates are noise.
    """

    state_std: tuple[float, ...] = parameter(
        (),
        "standard deviation of every state in iteration 1; empty: states are not perturbed",
        low=0.0,
    )
    input_std: tuple[float, ...] = parameter(
        description="standard deviation of every input in iteration 1", low=0.0
    )
    decay: str = parameter("power", "kind of decay", options=("power", "geometric"))
    rate: float = parameter(0.5, "exponent of a power, ratio of a geometric decay", low=0.0)
    floor: float = parameter(1e-3, "smallest scale", above=0.0, high=1.0)

    def scale(self, iteration: int) -> float:
        """Return the scale of an iteration.

        Args:
            iteration: k, starting at 1.

        Returns:
            std_k / std_1, between the floor and 1 for a decaying schedule.
        """
        if self.decay == "power":
            return max(self.floor, float(iteration) ** -self.rate)
        return max(self.floor, self.rate ** (iteration - 1))
