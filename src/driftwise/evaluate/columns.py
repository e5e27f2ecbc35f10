"""Which column of a log holds what: by the names that the caller gives, else guessed from names and contents."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from driftwise.errors import LogError

NO_COLUMN = ""  # the name that says: there is no such column, do not guess one

# In the order in which roles choose: a narrow meaning before a wide one.
WORDS: dict[str, tuple[str, ...]] = {
    "rewarded_at": ("rewarded_at", "outcome_at", "reward_time", "reward_at", "clicked_at", "converted_at", "paid_at"),
    "propensity": (
        "propensity",
        "pscore",
        "propensity_score",
        "action_prob",
        "action_probability",
        "probability",
        "prob",
    ),
    "time": ("time", "decided_at", "timestamp", "datetime", "date", "ts", "created_at", "event_time", "shown_at", "at"),
    "action": (
        *("action", "arm", "variant", "choice", "treatment", "variation", "version", "group", "option", "item"),
        *("button", "banner", "creative", "headline", "layout", "offer", "bucket", "price"),
    ),
    "reward": (
        *("reward", "click", "clicks", "clicked", "conversion", "converted", "success", "outcome", "payoff"),
        *("revenue", "purchase", "purchased", "sale", "sold", "profit", "target", "y"),
    ),
    "unit": ("unit", "user", "user_id", "customer", "customer_id", "visitor", "visitor_id", "session", "session_id"),
}
CONTEXT = re.compile(r"(x|context|feature|ctx)_?\d+|(context|feature|ctx)_.+")
COSTS = re.compile(r"costs?|spend|costs?_.+")
NEEDED = ("action", "reward")
CERTAIN = ("action", "arm", "variant", "treatment")  # names that mean the arm and nothing else: docs/logs.md has them


class Columns(NamedTuple):
    """Names of columns; an empty name where there is none."""

    time: str = NO_COLUMN
    action: str = NO_COLUMN
    reward: str = NO_COLUMN
    propensity: str = NO_COLUMN
    unit: str = NO_COLUMN
    rewarded_at: str = NO_COLUMN
    context: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in use."""
        single = (self.time, self.action, self.reward, self.propensity, self.unit, self.rewarded_at)
        return (*filter(None, single), *self.context, *self.costs)

    def described(self, roles: Sequence[str]) -> str:
        """What is what, in words: `time 'ts', action 'variant', reward 'click'`."""
        named = {role: (names,) if isinstance(names, str) else names for role, names in self._asdict().items()}
        return ", ".join(f"{role} {', '.join(map(repr, named[role]))}" for role in named if role in roles)


class ColumnOptions(NamedTuple):
    """Names that the caller gives; None asks for a guess, an empty name says that there is no such column."""

    time: str | None = None
    action: str | None = None
    reward: str | None = None
    propensity: str | None = None
    unit: str | None = None
    rewarded_at: str | None = None
    context: Sequence[str] | None = None
    costs: Sequence[str] | None = None
    features: Sequence[str] | None = None


class ArmGuess(NamedTuple):
    """The column that was taken for the arm, and others that could be it."""

    column: str
    by_content: bool
    alternatives: tuple[str, ...]

    def __str__(self) -> str:
        """`arms from 'app_version' (a guess; 'headline_id' could be it: --action headline_id)`."""
        how = " by content alone" if self.by_content else ""
        which = f"{' or '.join(map(repr, self.alternatives))} could be it: " if self.alternatives else "to name it: "
        option = shlex.join(["--action", self.alternatives[0] if self.alternatives else "COLUMN"])
        return f"arms from {self.column!r} (a guess{how}; {which}{option})"


Looks = Callable[[str], bool]


def choose_columns(
    options: ColumnOptions, names: Sequence[str], looks: Mapping[str, Looks]
) -> tuple[Columns, list[str]]:
    """The columns to use, and which of them were guessed.

    `looks` tells by the first rows whether a column could be a `time`, an `action` or a `reward`; a role that no name
    fits goes to the only column that could play it.
    """
    by_role: dict[str, str] = {}
    for role in WORDS:
        name = getattr(options, role)
        if name is not None:
            by_role[role] = existing(name, names, role) if name else NO_COLUMN
    context, costs = (_several(role, getattr(options, role), names) for role in ("context", "costs"))
    single = [*filter(None, by_role.values())]
    if repeated := [name for name in single if single.count(name) > 1]:
        raise LogError(f"{repeated[0]!r} has two roles: a column is one of {', '.join(WORDS)}")
    taken = {*single, *(context or ()), *(costs or ())}
    guessed = []
    for role, words in WORDS.items():
        if role in by_role:
            continue
        free = [name for name in names if name not in taken]
        name = _by_name(words, free) or _by_look(free, looks.get(role))
        by_role[role] = name
        if name:
            taken.add(name)
            guessed.append(role)
    for role in NEEDED:
        if not by_role[role]:
            look = looks.get(role)
            fitting = [name for name in names if name not in taken and look is not None and look(name)]
            why = (
                f"{' and '.join(map(repr, fitting))} could be the {role}"
                if fitting
                else f"no column looks like the {role}"
            )
            raise LogError(f"{why}: name it (--{role} COLUMN, or {role}= in Python); columns: {', '.join(names)}")
    if context is None:
        context = tuple(name for name in names if name not in taken and CONTEXT.fullmatch(_plain(name)))
        guessed += ["context"] if context else []
    if costs is None:
        costs = tuple(name for name in names if name not in taken and COSTS.fullmatch(_plain(name)))
        guessed += ["costs"] if costs else []
    return Columns(**by_role, context=context, costs=costs), guessed


def guess_of_arms(column: str, unused: Sequence[str], looks: Mapping[str, Looks]) -> ArmGuess | None:
    """How sure the guess is that a column has the arms; None where its name is certain, or nothing else could be it.

    >>> print(guess_of_arms("app_version", ["headline_id", "note"], {}))
    arms from 'app_version' (a guess; 'headline_id' could be it: --action headline_id)
    """
    words = WORDS["action"]
    if _plain(column) in CERTAIN:
        return None
    by_name = [name for name in unused if _by_name(words, [name]) and looks.get("several", _anything)(name)]
    by_look = [name for name in unused if name not in by_name and looks.get("action", _nothing)(name)]
    by_content = not _by_name(words, [column])
    return ArmGuess(column, by_content, (*by_name, *by_look)) if by_content or by_name or by_look else None


def existing(name: str, names: Sequence[str], role: str) -> str:
    """A column that is there."""
    if name not in names:
        raise LogError(f"{role}={name!r} is not a column; columns: {', '.join(names)}")
    return name


def _several(role: str, columns: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        columns = [columns] if columns else []
    return tuple(existing(name, names, role) for name in columns)


def _plain(name: str) -> str:
    """Lower case, with underscores: `Reward Time` and `rewardTime` are `reward_time`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _by_name(words: Sequence[str], names: Sequence[str]) -> str:
    """The column named like the first of the words that any is named like; else one that has it as a part."""
    for word in words:
        for name in names:
            if _plain(name) == word:
                return name
    for word in words:
        for name in names:
            if len(word) > 2 and word in _plain(name).split("_"):
                return name
    return NO_COLUMN


def _anything(name: str) -> bool:
    return True


def _nothing(name: str) -> bool:
    return False


def _by_look(names: Sequence[str], looks: Looks | None) -> str:
    fitting = [name for name in names if looks is not None and looks(name)]
    return fitting[0] if len(fitting) == 1 else NO_COLUMN
