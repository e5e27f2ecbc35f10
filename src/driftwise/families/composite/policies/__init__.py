"""The policies of this family by name. A new one is a file in this folder and a line here; the file's name is its name."""

from driftwise.core.spec import catalogue
from driftwise.families.composite.policies.bandit_over_bandit import BanditOverBandit as BanditOverBandit

POLICIES = catalogue(__name__, globals())
