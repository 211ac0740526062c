"""The interface of everything iRS-LQR can plan with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Jacobians(NamedTuple):
    """Derivatives of x+ = f(x, u) at a batch of points.

    Attributes:
        state: (K, n, n) A = df/dx.
        input: (K, n, m) B = df/du.
    """

    state: np.ndarray
    input: np.ndarray


class Dynamics(ABC):
    """A discrete-time system x+ = f(x, u) (bundled_gradients (11)).

    Methods are pure: they may be called from several threads at a time. A point at which
    f cannot be evaluated yields NaN, never an exception.

    Attributes:
        state_names: (n) one name per state.
        input_size: The number m of inputs.
        commanded_states: States that the inputs command, if inputs are positions; empty
            otherwise. For such systems the cost is on increments u_t - u_{t-1}, starting from
            the actual positions.
    """

    state_names: tuple[str, ...]
    input_size: int
    commanded_states: tuple[int, ...] = ()

    @property
    def state_size(self) -> int:
        """The number n of states."""
        return len(self.state_names)

    @property
    def input_names(self) -> tuple[str, ...]:
        """(m) the state that every input commands, or the input's number."""
        if self.commanded_states:
            return tuple(self.state_names[i] for i in self.commanded_states)
        return tuple(f"input {i}" for i in range(self.input_size))

    @abstractmethod
    def step_batch(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Advance a batch by one step.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.

        Returns:
            (K, n) x+ = f(x, u).
        """

    @abstractmethod
    def jacobians(self, states: np.ndarray, inputs: np.ndarray) -> Jacobians:
        """Differentiate a batch; a subclass says what it neglects, if anything.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.

        Returns:
            A and B at every point.
        """

    def step(self, state: np.ndarray, control: np.ndarray) -> np.ndarray:
        """Advance by one step.

        Args:
            state: (n) x.
            control: (m) u.

        Returns:
            (n) x+ = f(x, u).
        """
        return self.step_batch(state[np.newaxis], control[np.newaxis])[0]

    def rollout(self, initial_state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Simulate a sequence of inputs.

        Args:
            initial_state: (n) x_0.
            inputs: (T, m) u_0 .. u_{T-1}.

        Returns:
            (T + 1, n) x_0 .. x_T.
        """
        states = np.empty((len(inputs) + 1, self.state_size))
        states[0] = initial_state
        for t, control in enumerate(inputs):
            states[t + 1] = self.step(states[t], control)
        return states


@dataclass(frozen=True)
class PairForces:
    """What touches what along a motion.

    Attributes:
        pairs: (P) names of the two parts of every contact pair; "" for anything fixed.
        force: (K, P, D) force on the first part from the second, world [N]; y, z in a plane.
    """

    pairs: tuple[tuple[str, str], ...]
    force: np.ndarray


class ContactDynamics(Dynamics):
    """Dynamics with objects that move only when robots touch them.

    Attributes:
        object_states: Indices of the states of the objects.
        link_names: Names of the robot links that can touch something, on purpose or not.
    """

    object_states: tuple[int, ...]
    link_names: tuple[str, ...]

    @abstractmethod
    def barrier_jacobians(
        self, states: np.ndarray, inputs: np.ndarray, width: np.ndarray, shared: bool = False
    ) -> Jacobians:
        """Differentiate the log-barrier approximation of a batch.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.
            width: (m) distance [m, rad] over which contact is felt: what the standard
                deviation is for a sampled bundle.
            shared: Whether all barriers between two bodies weigh as much together as otherwise
                each of them: with many points they are felt ever farther away. In 3-D what is far
                away is not felt at all.

        Returns:
            A and B at every point.
        """

    @abstractmethod
    def penetration(self, state: np.ndarray) -> float:
        """Return the deepest penetration of a state [m], 0 if nothing overlaps.

        Args:
            state: (n) x.
        """

    @abstractmethod
    def contact_forces(self, states: np.ndarray, inputs: np.ndarray) -> PairForces:
        """Return the contact forces during a batch of steps.

        Args:
            states: (K, n) x.
            inputs: (K, m) u.
        """
