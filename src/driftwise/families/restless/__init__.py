"""Restless bandits: arms change state whether or not they are activated; some of many are activated at a time."""

from driftwise.core.family import Family, add_family
from driftwise.core.spec import catalogue
from driftwise.families.restless import oracles, policies, worlds
from driftwise.families.restless.adapter import RestlessAdapter
from driftwise.families.restless.comparator import WhittleRival
from driftwise.families.restless.fixtures import RestlessFixtures
from driftwise.families.restless.oracles import *  # noqa: F403
from driftwise.families.restless.policies import *  # noqa: F403
from driftwise.families.restless.policies.adaptive_whittle import AdaptiveWhittle
from driftwise.families.restless.problem import Restless as Restless
from driftwise.families.restless.service import RestlessService
from driftwise.families.restless.structure import RestlessStructure
from driftwise.families.restless.transitions.drift import drift
from driftwise.families.restless.words import words_of
from driftwise.families.restless.worlds import *  # noqa: F403

RESTLESS = add_family(
    Family(
        name="restless",
        chooses="several arms that move on their own",
        problem=Restless,
        adapter=RestlessAdapter,
        comparator=WhittleRival,
        structure=RestlessStructure,
        words=words_of,
        service=RestlessService(),
        drift=drift,
        fixtures=RestlessFixtures,
        auto=AdaptiveWhittle,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
        oracles=catalogue(oracles),
    )
)
