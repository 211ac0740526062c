"""Things by name: one way to register them, to look them up, and to add one from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from contact_core.base.errors import ConfigError, choices

Item = TypeVar("Item")


class Registry(Mapping[str, Item]):
    """What a configuration may choose by name.

    A package above, or one of the user's, adds an item without being imported from here: by
    :meth:`register`, or by an entry point of the registry's group in its own metadata.
    """

    def __init__(self, kind: str, items: Mapping[str, Item], group: str = "") -> None:
        """Start with the items that come with the package.

        Args:
            kind: What an item is, for the error, e.g. ``"QP solver"``.
            items: Name -> item.
            group: Entry-point group of the items of other packages; empty for none.
        """
        self._kind = kind
        self._items = dict(items)
        self._group = group

    def register(self, name: str, item: Item) -> None:
        """Add an item.

        Args:
            name: Its name.
            item: The item.

        Raises:
            ConfigError: If the name is taken.
        """
        if name in self._items:
            raise ConfigError(f"there is a {self._kind} '{name}' already")
        self._items[name] = item

    def __getitem__(self, name: str) -> Item:
        """Return an item.

        Raises:
            ConfigError: If there is none of that name; the message lists the valid ones.
        """
        if name not in self._items:
            self._load(name)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is an item of a name."""
        return name in self._items or name in self._elsewhere

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, those of other packages last."""
        return iter({**self._items, **self._elsewhere})

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)

    def _load(self, name: str) -> None:
        if name not in self._elsewhere:
            raise ConfigError(f"unknown {self._kind} '{name}' ({choices(self, name)})")
        self._items[name] = self._elsewhere[name].load()

    @cached_property
    def _elsewhere(self) -> dict[str, EntryPoint]:
        if not self._group:
            return {}
        # To look through all that is installed takes tens of milliseconds.
        found = entry_points(group=self._group)
        return {name: found[name] for name in sorted(found.names)}
