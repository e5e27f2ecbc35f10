"""The router of a service, where its store is one that several processes may serve."""

from driftwise.service.deployments.engine import Engine
from driftwise.service.members.membership import Membership
from driftwise.service.members.router import Router
from driftwise.service.members.worker_journal import WorkerJournal, WorkerRoster
from driftwise.service.store.journal import Journal


def make_router(engine: Engine, journal: Journal, address: str) -> Router | None:
    """The router of a member at an address; None for a store that one process serves."""
    if not getattr(journal, "shared", False):
        return None
    if isinstance(journal, WorkerJournal):
        return Router(Membership(engine, journal, WorkerRoster(journal.server), address))
    from driftwise.service.members.postgres_roster import PostgresRoster  # needs an extra
    from driftwise.service.store.postgres import PostgresJournal

    assert isinstance(journal, PostgresJournal)
    return Router(Membership(engine, journal, PostgresRoster(journal), address))
