"""Attributes that only agents of some families have: `remaining` budgets, the `ranking` of restless arms, ...

Each is a descriptor on the class. A method `__getattr__` would do the same, but Python would then look up every
attribute of an agent the slow way, and its rounds would take half as long again.
"""

from typing import TYPE_CHECKING

from driftwise.core.family import FAMILIES

if TYPE_CHECKING:
    from driftwise.agent.rounds import Rounds


class View:
    """An attribute that the adapters of some families compute."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, agent: "Rounds | None", owner: type["Rounds"]) -> object:
        """The value before the next decision."""
        if agent is None:
            return self
        with agent._lock:
            views = agent._adapter.views()
            if self.name not in views:
                others = f"; beside what all agents have, it has {', '.join(views)}" if views else ""
                raise AttributeError(f"an agent of {agent._adapter.name} has no `{self.name}`{others}")
            return views[self.name](agent.t)


def add_views(owner: type["Rounds"]) -> None:
    """Give a class of agents the attributes of every family there is now."""
    for family in FAMILIES.values():
        for name in family.adapter.view_names:
            if not hasattr(owner, name):
                setattr(owner, name, View(name))
