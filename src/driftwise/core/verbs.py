"""The verbs, and who answers to them.

A verb is called alike from Python and from compiled code; which kernel runs is decided by the class of its first
argument (a policy, a tape, or a state). Where a policy has states of several classes, the kernels registered for the
class of a state come before those of its policy. A verb is a type of its own for numba: one compiled loop serves every
policy.

    advance(policy, state, t, rng)                                 time has come to round t; default: nothing
    select(policy, state, t, context, rng) -> (action, propensity) reads the state only
    pend(policy, state, decision)                                  its outcome is under way; default: nothing
    settle(policy, state, decision)                                it is no longer; default: nothing
    update(policy, state, decision, outcome, now)                  writes the state in place
    observe(tape, nature, t) -> (context, open)                    may write nature: what has moved by itself
    respond(tape, nature, t, action) -> Outcome                    may write nature
    deliver(tape, nature, policy, state, decision, outcome)        default: update at once
    refresh(state, arm)                                            a windowed state: the count of `arm` has changed
    gained(state, slot), lost(state, slot)                         a window of features: a pair has come; it will go
    awaited(state, slot), forgone(state, slot)                     a row under way came; it will go; default: nothing
    turned(state)                                                  a window of features: a pass through it has ended
    restart(policy, state, memory, window)                         forget all; from now on remember `memory` rounds
    appraise(policy, state, t, context, prices)                    write what a unit of each resource is worth now
    rank(policy, state, t, context, indices)                       write the index of each arm, in the state it is in
    summarise(policy, state, t, context, out)                      write what is known of each arm: core/summary.py
    missed(standard, i, action, reward) -> (regret, is best)       the regret of a choice; measure/comparator.py

`advance` exists because `select` may not write, and a window must forget a round even when no reward ever came for it.
It is given the stream of round t; `select` draws from that too, and `update` from its branch, so that what is drawn
here comes from the branch of the branch. `deliver` exists so that a world can hold rewards back; it alone decides when
`update` is called. `pend` lets a policy count what is under way: between a decision and its outcome the arm has been
tried, though nothing is known of it yet. Whoever calls `pend` calls `settle` once: when the outcome comes (just before
`update`), is lost, or the decision is cancelled. The two leave no trace: `pend`, `settle`, `update` in a row end in the
state of `update` alone, so that a world whose rewards come at once calls neither. `refresh` lets one window
(`numerics/window.py`) serve every policy that slides, and `gained`, `lost`, `awaited`, `forgone` and `turned` do so for
features (`families/contextual/feature_window.py`). `restart` is how a policy over policies tries windows: after it the
state is as `init` made it, but for a memory of `memory` rounds and bounds sized for a window of `window`. `summarise`
takes the context that `select` takes, in a state that has come to round t, and like `select` it reads only.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.core.compilation.compile_errors import mark
from driftwise.core.kernel import Kernel, forget_compiled, kernel
from driftwise.core.pinned import kinds
from driftwise.core.summary import Summary, clear_summary
from driftwise.core.types import About
from driftwise.errors import RegistrationError

if TYPE_CHECKING:
    from numba.core.typing import BaseContext, Signature
    from numba.types import Type as NumbaType


class Verb:
    """One verb: a table from class to kernel, callable from Python and from kernels."""

    def __init__(self, name: str, default: Kernel[..., Any] | None = None) -> None:
        self.__name__ = name
        self.default = default
        self.kernels: dict[type, Kernel[..., Any]] = {}

    def find(self, subject: type, state: type | None = None) -> Kernel[..., Any] | None:
        """The kernel registered for a class of states, else for that of a policy or tape; None where there is none."""
        return self.kernels.get(state) or self.kernels.get(subject, self.default)  # type: ignore[arg-type]

    def kernel_for(self, subject: type, state: type | None = None) -> Kernel[..., Any]:
        """The same; the error names what is missing."""
        registered = self.find(subject, state)
        if registered is None:
            raise RegistrationError(f"{subject.__name__} has no {self.__name__} kernel: register one for it")
        return registered

    def __call__(self, subject: object, *args: object) -> Any:
        classes = (next(kinds([each])) for each in (subject, *args[:1]))  # of what is pinned, too
        return self.kernel_for(*classes)(subject, *args)

    def __repr__(self) -> str:
        return f"<verb {self.__name__}: {len(self.kernels)} kernels>"


@kernel
def _stay(policy: Any, state: Any, t: int, rng: Any) -> None:
    """Nothing happens to this policy when time passes."""


@kernel
def _ignore(policy: Any, state: Any, decision: Any) -> None:
    """What is under way makes no difference to this policy."""


@kernel
def _ignore_slot(state: Any, slot: int) -> None:
    """What is under way in a window makes no difference to this state."""


@kernel
def _deliver_at_once(tape: Any, nature: Any, policy: Any, state: Any, decision: Any, outcome: Any) -> None:
    update(policy, state, decision, outcome, decision.t)


@kernel
def _no_prices(policy: Any, state: Any, t: int, context: Any, prices: Any) -> None:
    for resource in range(len(prices)):
        prices[resource] = np.nan


@kernel
def _no_indices(policy: Any, state: Any, t: int, context: Any, indices: Any) -> None:
    for arm in range(len(indices)):
        indices[arm] = np.nan


@kernel
def _no_summary(policy: Any, state: Any, t: int, context: Any, out: Summary) -> None:
    clear_summary(out)


advance = Verb("advance", default=_stay)
select = Verb("select")
pend = Verb("pend", default=_ignore)
settle = Verb("settle", default=_ignore)
update = Verb("update")
observe = Verb("observe")
respond = Verb("respond")
deliver = Verb("deliver", default=_deliver_at_once)
refresh = Verb("refresh")
gained = Verb("gained")
lost = Verb("lost")
awaited = Verb("awaited", default=_ignore_slot)
forgone = Verb("forgone", default=_ignore_slot)
turned = Verb("turned")
restart = Verb("restart")
appraise = Verb("appraise", default=_no_prices)
rank = Verb("rank", default=_no_indices)
summarise = Verb("summarise", default=_no_summary)
missed = Verb("missed")

VERBS = {
    verb.__name__: verb
    for verb in (
        *(advance, select, pend, settle, update, observe, respond, deliver),
        *(refresh, gained, lost, awaited, forgone, turned, restart, appraise, rank, summarise, missed),
    )
}
ABOUT: dict[type, About] = {}
_OWNERS: dict[str, type] = {}


def register(subject: type, *, about: About | None = None, **kernels: Kernel[..., Any] | None) -> None:
    """Give a policy, tape or state class its kernels. A class name can be taken once.

    A kernel registered anew takes the place of the one before it, in all that is compiled from then on; None takes a
    kernel away. Agents made before keep the code they were made with; `Agent.loads(agent.dumps())` moves one over.

    numba tells NamedTuples apart by class name and field types alone: a second class of the same name would run
    the first one's kernels without a word, so it is refused here. Only the same class written anew, in a notebook or
    after a reload, takes the place of its former self.
    """
    name = subject.__name__
    if not hasattr(subject, "_fields"):
        raise RegistrationError(f"{name} is not a NamedTuple: kernels can only take NamedTuples")
    owner = _OWNERS.setdefault(name, subject)
    if (owner.__module__, owner.__qualname__) != (subject.__module__, subject.__qualname__):
        raise RegistrationError(
            f"the name {name} is taken by {owner.__module__}.{name}: "
            f"{subject.__module__}.{name} would silently run its kernels; choose another name"
        )
    for verb, answer in kernels.items():
        if verb not in VERBS:
            raise RegistrationError(f"{verb!r} is not a verb: there are {', '.join(VERBS)}")
        if not (answer is None or isinstance(answer, Kernel)):
            raise RegistrationError(f"{verb} of {name} is not a kernel: decorate it with @dx.kernel")
    if about is not None:
        ABOUT[subject] = about
    if kernels_of(subject) and any(VERBS[verb].kernels.get(subject) is not kernels[verb] for verb in kernels):
        forget_compiled()
    for verb, answer in kernels.items():
        if answer is None:
            VERBS[verb].kernels.pop(subject, None)
        else:
            VERBS[verb].kernels[subject] = answer


def kernels_of(subject: type) -> list[Kernel[..., Any]]:
    """Every kernel registered for a class."""
    return [verb.kernels[subject] for verb in VERBS.values() if subject in verb.kernels]


def teach(numba: ModuleType) -> None:
    """Make kernels and verbs callable inside compiled code: a verb calls the kernel registered for its subject."""
    types = numba.types

    class KernelType(types.Dispatcher):  # type: ignore[misc, name-defined]
        """numba's type of a kernel, which is not compiled again for a whole number that is written out in a call.

        numba's type of such a number is that of this one number, and of `f(-1)` and `f(arm)` would make two functions.
        """

        def get_call_type(
            self, context: "BaseContext", args: "tuple[NumbaType, ...]", kws: "dict[str, NumbaType]"
        ) -> "Signature":
            plain = (types.unliteral(each) if isinstance(each, types.IntegerLiteral) else each for each in args)
            return super().get_call_type(context, tuple(plain), kws)

    def check_choice(returned: "NumbaType") -> None:
        """Refuse what a `select` must not return, before the loop fails to use it."""
        if not isinstance(returned, types.BaseTuple) or len(returned) != 2:
            raise numba.TypingError(f"it returns {returned}, not an action and its propensity (nan where unknown)")
        action = types.unliteral(returned[0])
        if not isinstance(action, types.Integer | types.Array):
            raise numba.TypingError(f"it returns {action} for an action, which is a whole number or an array")

    class VerbType(types.Callable, types.Dummy):  # type: ignore[misc, name-defined]
        """numba's type of a verb. Unlike an `overload` it asks the table at every compilation, and adds no stub."""

        def __init__(self, verb: Verb) -> None:
            self.verb = verb
            super().__init__(f"verb({verb.__name__})")

        def kernel_type(self, args: "tuple[NumbaType, ...]") -> "NumbaType":
            return KernelType(self.kernel_for(args).compiled)

        def kernel_for(self, args: "tuple[NumbaType, ...]") -> Kernel[..., Any]:
            """The kernel for arguments of these types."""
            state = getattr(args[1], "instance_class", None) if len(args) > 1 else None
            return self.verb.kernel_for(args[0].instance_class, state)

        def get_call_type(
            self, context: "BaseContext", args: "tuple[NumbaType, ...]", kws: "dict[str, NumbaType]"
        ) -> "Signature":
            called = self.kernel_type(args)
            try:
                signature = called.get_call_type(context, args, kws)
                if self.verb is select:
                    check_choice(signature.return_type)
                return signature
            except Exception:
                mark(self.verb.__name__, args[0].instance_class, self.kernel_for(args))
                raise

        def get_call_signatures(self) -> "tuple[list[Signature], bool]":
            return [], True

        def get_impl_key(self, sig: "Signature") -> object:
            return self.kernel_type(sig.args).get_impl_key(sig)

    for kind in (KernelType, VerbType):
        numba.extending.register_model(kind)(numba.extending.models.OpaqueModel)
    numba.extending.typeof_impl.register(Kernel)(lambda value, context: KernelType(value.compiled))
    numba.extending.typeof_impl.register(Verb)(lambda value, context: VerbType(value))
