"""Multi-armed bandits: one arm is chosen, one reward comes back."""

from driftwise.core.family import Family, Late, add_family
from driftwise.core.spec import catalogue
from driftwise.families.multi_armed import policies, worlds
from driftwise.families.multi_armed.adapter import MultiArmedAdapter
from driftwise.families.multi_armed.fixtures import MultiArmedFixtures
from driftwise.families.multi_armed.policies import *  # noqa: F403
from driftwise.families.multi_armed.policies.filter_bank_ucb import FilterBankUCB
from driftwise.families.multi_armed.problem import MultiArmed as MultiArmed
from driftwise.families.multi_armed.words import words_of
from driftwise.families.multi_armed.worlds import *  # noqa: F403
from driftwise.measure.comparator import BestChoice
from driftwise.measure.variation import norms

MULTI_ARMED = add_family(
    Family(
        name="multi-armed",
        chooses="one arm, without features",
        problem=MultiArmed,
        adapter=MultiArmedAdapter,
        comparator=BestChoice,
        words=words_of,
        drift=norms,
        late=Late(),
        fixtures=MultiArmedFixtures,
        auto=FilterBankUCB,
        policies=catalogue(policies),
        worlds=catalogue(worlds),
    )
)
