"""An integrator of one's own beside TAMSI: extrapolated from a step and its two halves.

contact-stack paper tamsi 8 --with examples/papers/01_own_integrator.py
"""

from contact_experiments.tamsi.integrators.integrator import SCHEMES, TAMSI, Integrator, Scheme


class Extrapolated(Integrator):
    """TAMSI without its first-order error (Richardson), where nothing switches within a step."""

    def __init__(self, scheme, engine, excitation=None, config=None):
        """Bind the scheme, and TAMSI with half the step, to an engine."""
        super().__init__(scheme, engine, excitation, config)
        engine.time_step *= 0.5
        self.halves = Integrator(TAMSI, engine, excitation, config)  # shares the engine's state
        engine.time_step = self.time_step

    def step(self, steps=1):
        """Advance by steps of h."""
        for _ in range(steps):
            q, v = self.q.copy(), self.v.copy()
            if status := super().step():
                return status
            coarse_q, coarse_v = self.q.copy(), self.v.copy()
            self.q[:], self.v[:] = q, v
            if status := self.halves.step(2):
                return status
            self.q[:], self.v[:] = 2.0 * self.q - coarse_q, 2.0 * self.v - coarse_v
        return status


SCHEMES.register("extrapolated", Scheme("extrapolated", TAMSI.kernel, integrator=Extrapolated))
