"""The policies of this family: a new one is a file here, which gives it its name, and a line below."""

from driftwise.families.composite.policies.auto import Auto as Auto
from driftwise.families.composite.policies.bandit_over_bandit import BanditOverBandit as BanditOverBandit
