"""The compiled code of one agent, bound when the agent is made.

Kernels registered later do not change how it decides; an agent that is loaded from bytes uses those registered then.
"""

from collections.abc import Callable
from typing import Any

from driftwise.core.fingerprint import code_tag
from driftwise.core.kernel import Kernel, load_numba
from driftwise.core.pinned import kinds
from driftwise.core.protocols import Policy
from driftwise.core.types import State
from driftwise.core.verbs import VERBS, Verb


class Bound:
    """Entry points by kernel or verb and types of arguments, and the tag of the code they were compiled from."""

    def __init__(self, policy: Policy, state: State) -> None:
        self.tag = code_tag(*kinds([policy]))
        self._kernels = {verb: verb.find(type(policy), type(state)) for verb in VERBS.values()}
        self._known: dict[Any, Callable[..., Any]] = {}

    def __call__(self, called: Kernel[..., Any] | Verb, *examples: object, holds: bool = False) -> Callable[..., Any]:
        """The entry point for arguments of the types of `examples`."""
        key = called, holds, *map(load_numba().typeof, examples)
        if key not in self._known:
            kernel = called if isinstance(called, Kernel) else self._kernels[called]
            assert kernel is not None, called
            self._known[key] = kernel.bind(*examples, holds=holds)
        return self._known[key]
