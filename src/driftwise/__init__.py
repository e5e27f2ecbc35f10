"""driftwise: sequential decisions when the world drifts.

    import driftwise as dw
    agent = dw.Agent(dw.SlidingThompson(window=1000), n_arms=3, seed=0)
    decision = agent.decide()
    agent.learn(decision, reward=1.0)

Public names load on first use: importing driftwise imports neither NumPy nor numba.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Agent": "driftwise.agent",
    "Decision": "driftwise.core.types",
    "Outcome": "driftwise.core.types",
    "Problem": "driftwise.core.types",
    "About": "driftwise.core.types",
    "PerArm": "driftwise.core.types",
    "ArmIds": "driftwise.core.types",
    "Shared": "driftwise.core.types",
    "Cache": "driftwise.core.types",
    "kernel": "driftwise.core.kernel",
    "register": "driftwise.core.verbs",
    "POLICIES": "driftwise.policies",
    "Uniform": "driftwise.policies",
    "UCB1": "driftwise.policies",
    "Thompson": "driftwise.policies",
    "GaussianThompson": "driftwise.policies",
    "SlidingUCB": "driftwise.policies",
    "SlidingThompson": "driftwise.policies",
    "SlidingGaussianThompson": "driftwise.policies",
    "WORLDS": "driftwise.worlds",
    "Stationary": "driftwise.worlds",
    "Abrupt": "driftwise.worlds",
    "Sinusoidal": "driftwise.worlds",
    "RandomWalk": "driftwise.worlds",
    "Delayed": "driftwise.worlds",
    "DriftwiseError": "driftwise.errors",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'driftwise' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
