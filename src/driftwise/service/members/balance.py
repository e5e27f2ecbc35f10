"""Which slots should have another owner: those without one, and those of a member that has more than others.

All members compute the same plan from the same view. A member carries out its own part: it hands over what it owns, and
gives owners to slots that have none, where the first one wins.
"""

from collections.abc import Mapping, Sequence

from driftwise.service.members.roster import SLOTS, RosterView

Plan = dict[int, int]  # the new owner by slot


def plan_moves(view: RosterView, n_deployments: Mapping[int, int], leaving: int | None = None) -> Plan:
    """The moves after which all members own about as many deployments, and as many empty slots.

    `n_deployments` counts those of each slot. `leaving` is a member that hands over everything, to others that are
    ready. Otherwise, where none is ready, all that are there own what there is.
    """
    there = {id: member for id, member in view.members.items() if id != leaving and not member.expired}
    able = [id for id, member in there.items() if member.ready] or ([] if leaving is not None else list(there))
    if not able:
        return {}
    used = sorted((slot for slot in range(1, SLOTS + 1) if n_deployments.get(slot)), key=_scattered)
    empty = sorted((slot for slot in range(1, SLOTS + 1) if not n_deployments.get(slot)), key=_scattered)
    sizes = {slot: n_deployments.get(slot, 0) for slot in used}
    return _level(view, sorted(able), sizes, leaving) | _level(view, sorted(able), dict.fromkeys(empty, 1), leaving)


def _level(view: RosterView, able: Sequence[int], sizes: Mapping[int, int], leaving: int | None) -> Plan:
    """Level the loads: orphans go to the least loaded; then the most loaded gives to the least, while that helps."""
    owned: dict[int, list[int]] = {id: [] for id in able}
    plan: Plan = {}
    orphans = []
    for slot in sizes:
        owner = view.owners[slot]
        if owner in owned:
            owned[owner].append(slot)
        elif owner not in view.members or owner == leaving:
            orphans.append(slot)
    loads = {id: sum(sizes[slot] for slot in slots) for id, slots in owned.items()}
    for slot in orphans:
        least = min(able, key=lambda each: (loads[each], each))
        plan[slot] = least
        owned[least].append(slot)
        loads[least] += sizes[slot]
    while (move := _next_move(owned, loads, sizes)) is not None:
        slot, most, least = move
        owned[most].remove(slot)
        owned[least].append(slot)
        loads[most] -= sizes[slot]
        loads[least] += sizes[slot]
        plan[slot] = least
    return plan


def _next_move(
    owned: Mapping[int, list[int]], loads: Mapping[int, int], sizes: Mapping[int, int]
) -> tuple[int, int, int] | None:
    """A slot, its owner and the next; None where no move makes the loads more even."""
    order = sorted(owned, key=lambda each: (loads[each], each))
    least = order[0]
    for most in reversed(order):
        excess = loads[most] - loads[least]
        fit = [slot for slot in owned[most] if sizes[slot] < excess]
        if excess >= 2 and fit:
            return min(fit, key=lambda slot: abs(excess - 2 * sizes[slot])), most, least
    return None


def _scattered(slot: int) -> int:
    """An order in which any first half has every second slot: new deployments, which follow each other, alternate."""
    return int(f"{slot - 1:08b}"[::-1], 2)
