"""Slates: several items are chosen at once, and each has a reward."""

from driftwise.core.family import Family, add_family
from driftwise.core.spec import catalogue
from driftwise.families.slate import policies, worlds
from driftwise.families.slate.adapter import SlateAdapter
from driftwise.families.slate.fixtures import SlateFixtures
from driftwise.families.slate.policies import *  # noqa: F403
from driftwise.families.slate.policies.sliding_slate_ucb import SlidingSlateUCB
from driftwise.families.slate.problem import Slate as Slate
from driftwise.families.slate.service import SlateService
from driftwise.families.slate.words import words_of
from driftwise.families.slate.worlds import *  # noqa: F403
from driftwise.measure.comparator import BestChoice
from driftwise.measure.variation import norms

SLATE = add_family(
    Family(
        name="slate",
        chooses="several items at once",
        problem=Slate,
        adapter=SlateAdapter,
        comparator=BestChoice,
        words=words_of,
        service=SlateService(),
        drift=norms,
        fixtures=SlateFixtures,
        auto=SlidingSlateUCB,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
    )
)
