"""The router of a service, where its store is one that several processes may serve."""

from typing import TYPE_CHECKING

from driftwise.service.deployments.engine import Engine
from driftwise.service.members.membership import Membership
from driftwise.service.members.router import Router
from driftwise.service.store.journal import Journal

if TYPE_CHECKING:
    from driftwise.service.members.roster import Roster
    from driftwise.service.store.journal import SharedJournal


def make_router(engine: Engine, journal: Journal, address: str) -> Router | None:
    """The router of a member at an address; None for a store that one process serves."""
    if not getattr(journal, "shared", False):
        return None
    from driftwise.service.members.postgres_roster import PostgresRoster
    from driftwise.service.store.postgres import PostgresJournal

    assert isinstance(journal, PostgresJournal)
    shared: SharedJournal = journal
    roster: Roster = PostgresRoster(journal)
    return Router(Membership(engine, shared, roster, address))
