"""Online convex optimisation with constraints: a point is chosen, gradients come back."""

from driftwise.core.family import Family, add_family
from driftwise.core.spec import catalogue
from driftwise.families.convex import policies, worlds
from driftwise.families.convex.adapter import ConvexAdapter
from driftwise.families.convex.comparator import BestPoint
from driftwise.families.convex.constraint_violation import drift
from driftwise.families.convex.fixtures import ConvexFixtures
from driftwise.families.convex.policies import *  # noqa: F403
from driftwise.families.convex.policies.virtual_queue import VirtualQueue
from driftwise.families.convex.problem import Convex as Convex
from driftwise.families.convex.projections import ConvexStructure
from driftwise.families.convex.service import ConvexService
from driftwise.families.convex.words import words_of
from driftwise.families.convex.worlds import *  # noqa: F403

CONVEX = add_family(
    Family(
        name="convex",
        chooses="a point of a convex set",
        problem=Convex,
        adapter=ConvexAdapter,
        comparator=BestPoint,
        structure=ConvexStructure,
        words=words_of,
        service=ConvexService(),
        drift=drift,
        fixtures=ConvexFixtures,
        points=True,
        auto=VirtualQueue,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
    )
)
