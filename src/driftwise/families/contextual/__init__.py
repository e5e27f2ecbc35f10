"""Contextual bandits: every action has a row of features; linear, generalised linear and Gaussian-process rewards."""

from driftwise.core.family import Family, Late, add_family
from driftwise.core.spec import catalogue
from driftwise.families.contextual import policies, worlds
from driftwise.families.contextual.adapter import ContextualAdapter
from driftwise.families.contextual.fixtures import ContextualFixtures
from driftwise.families.contextual.policies import *  # noqa: F403
from driftwise.families.contextual.policies.filter_bank_lin_ucb import FilterBankLinUCB
from driftwise.families.contextual.problem import Contextual as Contextual
from driftwise.families.contextual.service import ContextualService
from driftwise.families.contextual.words import words_of
from driftwise.families.contextual.worlds import *  # noqa: F403
from driftwise.measure.comparator import BestChoice
from driftwise.measure.variation import norms

CONTEXTUAL = add_family(
    Family(
        name="contextual",
        chooses="one row of a matrix of features",
        problem=Contextual,
        adapter=ContextualAdapter,
        comparator=BestChoice,
        words=words_of,
        service=ContextualService(),
        drift=norms,
        late=Late(row=lambda problem: problem.dim),
        fixtures=ContextualFixtures,
        auto=FilterBankLinUCB,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
        guests=("multi-armed",),
    )
)
