"""What every world promises, whatever it shows and whatever is chosen in it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np

from driftwise.checks.contract import fixtures_in, require
from driftwise.core import verbs
from driftwise.core.family import FAMILIES, family_of, trace_for
from driftwise.core.fixtures import ROUNDS
from driftwise.core.loop import play
from driftwise.core.pinned import pin_arrays
from driftwise.core.protocols import Policy, Tape, World
from driftwise.core.seeding import key
from driftwise.core.serialization import arrays, clone, equal
from driftwise.core.types import Problem
from driftwise.core.validation import without_text
from driftwise.families import POLICIES, Uniform

BLOCKS = 60  # of a tape that is drawn in blocks


def same_seed_same_tape(world: World) -> str | None:
    """A tape is a function of world, horizon and seed, and another seed gives another."""
    one, again, other = (_tape_bytes(world.tapes(ROUNDS, seed)) for seed in (1, 1, 2))
    require(one == again, f"{world} drew two different tapes from one seed")
    if getattr(world, "certain", False):
        require(one == other, f"{world} has certain=True, but drew different tapes from two seeds")
        return f"{type(world).__name__} draws nothing: there is only one"
    require(one != other, f"{world} drew the same tape from two seeds")
    return None


def tape_blocks_join(world: World) -> None:
    """However a tape is cut into blocks, every round is the same."""
    whole = _rounds(world.tapes(ROUNDS, 3, ROUNDS))
    for size in (1, 7, 256):
        rounds = _rounds(islice(world.tapes(ROUNDS, 3, size), BLOCKS))
        wrong = [name for name in rounds if not np.array_equal(rounds[name], whole[name][: size * BLOCKS])]
        require(not wrong, f"{world} differs when drawn in blocks of {size}: {', '.join(wrong)}")


def answers_every_action(world: World) -> None:
    """Every action of every round has a finite reward, within the range the problem declares."""
    problem, fixtures = world.problem(ROUNDS), fixtures_in(world)
    tape, fresh = pin_arrays(world.draw(ROUNDS, seed=4)[0]), world.nature(ROUNDS)
    for t in range(0, ROUNDS, 97):
        for action in fixtures.every_action():
            nature = clone(fresh)
            _, is_open = verbs.observe(tape, nature, t)
            require(bool(is_open), f"{world} is closed in round {t} although nothing was chosen before")
            outcome = verbs.respond(tape, nature, t, action)
            rewards = fixtures.rewards_of(outcome)
            wrong = rewards[~(np.isfinite(rewards) & (problem.low <= rewards) & (rewards <= problem.high))]
            require(not len(wrong), f"{world} paid {wrong[:1]} in round {t}, outside [{problem.low}, {problem.high}]")


def spends_what_there_is(world: World) -> str | None:
    """With budgets a choice costs from 0 to 1, the null arm nothing; no more is ever spent than there is by then."""
    problem, fixtures = world.problem(ROUNDS), fixtures_in(world)
    if not fixtures.has_costs:
        return f"{type(world).__name__} has no budgets"
    tape, nature = world.draw(ROUNDS, seed=4)
    pinned, total = (pin_arrays(tape), pin_arrays(nature)), np.zeros(len(fixtures.available(tape, 0)))
    for t in range(ROUNDS):
        if not verbs.observe(*pinned, t)[1]:
            break
        action = t % (problem.n_arms + 1) - 1
        outcome = verbs.respond(*pinned, t, action)
        fits = bool(((0.0 <= outcome.costs) & (outcome.costs <= 1.0)).all()) and (action >= 0 or not any(outcome.costs))
        require(fits, f"{world} took {outcome.costs} for arm {action} in round {t}")
        require(action >= 0 or outcome.reward == 0.0, f"{world} paid {outcome.reward} for the null arm in round {t}")
        total += outcome.costs
        most = fixtures.available(tape, t)
        within = bool((total <= most * (1.0 + 1e-9) + 1e-9).all())
        require(within, f"{world} let {total} of {most} be spent by round {t}")
    return None


def shows_what_it_declares(world: World) -> str | None:
    """Every round shows a row of `dim` finite features per action, not all of them zero."""
    problem = world.problem(ROUNDS)
    if not fixtures_in(world).has_rows:
        return f"{type(world).__name__} shows nothing"
    rows = _rounds(world.tapes(ROUNDS, seed=4))["sets"]
    fits = rows.shape == (ROUNDS, problem.n_arms, problem.dim)
    require(fits, f"{world} shows {rows.shape}, not {(ROUNDS, problem.n_arms, problem.dim)}")
    require(bool(np.isfinite(rows).all()), f"{world} shows features that are not finite")
    require(bool(rows.any(axis=(1, 2)).all()), f"{world} shows rounds without any feature")
    return None


def changes_lie_inside(world: World) -> None:
    """Changes are in order, within the horizon, and what drifts does move there."""
    changes = world.changes(ROUNDS, 5)
    require(changes == sorted(set(changes)), f"{world} has its changes out of order: {changes}")
    require(all(0 < change < ROUNDS for change in changes), f"{world} changes outside the horizon: {changes}")
    rounds = _rounds(world.tapes(ROUNDS, 5))
    drifts = [next(rounds[name] for name in ("path", "levels", "expected") if rounds.get(name, np.empty(0)).size)]
    drifts += [rounds["costs"]] if "costs" in rounds else []
    for change in changes:
        moved = any((each[change] != each[change - 1]).any() for each in drifts)
        require(moved, f"{world} names a change in round {change}, where nothing moves")


def nature_is_fresh(world: World) -> None:
    """Every run gets a nature of its own."""
    require(_same_run(world, world), f"{world} remembers an earlier run")


def unused_parameters_play_no_part(world: World) -> str | None:
    """With another value of a parameter that is not used, the problem is the same, and every run."""
    unused = getattr(world, "unused_parameters", ())
    if not unused:
        return f"{type(world).__name__} uses all of its parameters"
    for name in unused:
        other = replace(cast(Any, world), **{name: 2 * getattr(world, name)})
        same = other.problem(ROUNDS) == world.problem(ROUNDS) and _same_run(world, other)
        require(same, f"{world} says that {name} is not used, but {name}={getattr(other, name)} gives another run")
    return None


def moves_as_declared(world: World) -> str | None:
    """Arms make no transition that cannot happen, move as the problem says where it does, and drift only there."""
    fixtures = fixtures_in(world)
    if not fixtures.has_states:
        return f"{type(world).__name__} has no transitions"
    tape, _ = world.draw(ROUNDS, seed=5)
    tables, possible, known, known_rows, still = fixtures.transitions(tape)
    require(bool((tables[:, ~possible] == 0.0).all()), f"{world} makes transitions that its problem forbids")
    as_known = np.allclose(tables[:, known], known_rows[known], atol=1e-12)
    require(as_known, f"{world} moves otherwise than its problem says")
    require(bool((tables[:, still] == tables[0, still]).all()), f"{world} drifts where its problem says it does not")
    return None


WORLD_CHECKS: tuple[Callable[[World], str | None], ...] = (
    same_seed_same_tape,
    tape_blocks_join,
    answers_every_action,
    spends_what_there_is,
    shows_what_it_declares,
    changes_lie_inside,
    nature_is_fresh,
    unused_parameters_play_no_part,
    moves_as_declared,
)


def _same_run(world: World, other: World) -> bool:
    """Whether a policy earns and learns the same in both, bit for bit."""
    policy, runs = _player(world.problem()), []
    for each in (world, other):
        problem = each.problem()
        tape, nature = each.draw(ROUNDS, seed=6)
        state, trace = policy.init(problem), trace_for(problem, 0, ROUNDS)
        play(without_text(policy), state, tape, nature, key(7), trace, ROUNDS)
        runs.append((trace, state))
    same = np.array_equal(runs[0][0].rewards, runs[1][0].rewards, equal_nan=True)
    return equal(runs[0][1], runs[1][1]) and same


def _player(problem: Problem) -> Policy:
    """A policy that can play this problem; bare arms, rows, and arms that cost can be chosen without looking."""
    if FAMILIES[problem.family].accepts(family_of(Uniform())):
        return Uniform()
    players: list[Policy] = [kind() for kind in POLICIES.values() if family_of(kind()) == problem.family]
    return min(players, key=lambda policy: len(list(arrays(policy.init(problem)))))  # the simplest compiles soonest


def _rounds(tapes: Iterator[Tape]) -> dict[str, Any]:
    """Everything a tape says, one row a round, whatever blocks it came in."""
    blocks = [_columns(tape) for tape in tapes]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _columns(tape: Tape) -> dict[str, Any]:
    """What one tape says: rows that several rounds share are written out, and a tape inside counts as well."""
    rounds, columns = len(getattr(tape, "tape", tape).levels.rows), {}
    parts = tape._asdict()
    for name, value in parts.items():
        if name == "levels":
            columns[name] = value.table[value.rows]
        elif name == "costs":
            columns[name] = value[tape.levels.rows]
        elif name == "sets":
            columns[name] = value[parts["which"]]
        elif name == "tape":
            columns |= _columns(value)
        elif hasattr(value, "rows"):
            tables = [table[value.rows].reshape(rounds, -1) for table in value if table is not value.rows]
            columns[name] = np.concatenate(tables, axis=1)
        elif name != "which" and isinstance(value, np.ndarray) and len(value) == rounds:
            columns[name] = value
    return columns


def _tape_bytes(tapes: Iterator[Tape]) -> bytes:
    return b"".join(column.tobytes() for column in _rounds(tapes).values())
