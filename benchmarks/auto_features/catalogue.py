"""The worlds of the benchmark: ten to develop on, and others that nothing was tuned on."""

from benchmarks.auto_features.drifting_worlds import DriftingFeatures as Features
from driftwise.families import PiecewiseLinear

HORIZON = 30_000

DEVELOPMENT = {
    "fresh8-abrupt": Features(dim=8, n_actions=20, sd=0.2, drift="abrupt", pace=3000),
    "fresh4-still": Features(dim=4, n_actions=20, sd=0.5),
    "fresh6-walk": Features(dim=6, n_actions=15, sd=0.2, drift="walk", pace=0.002),
    "fixed30-abrupt": Features(dim=6, n_actions=30, actions="fixed", sd=0.3, drift="abrupt", pace=2000),
    "fixed20-walk": Features(dim=4, n_actions=20, actions="fixed", sd=0.2, drift="walk", pace=0.003),
    "fixed40-still": Features(dim=5, n_actions=40, actions="fixed", sd=0.2),
    "disjoint4x3-ou": Features(
        dim=12, n_actions=4, context_dim=3, actions="disjoint", sd=0.2, norm=2.0, drift="ou", pace=3000
    ),
    "disjoint3x3-abrupt": Features(
        dim=9, n_actions=3, context_dim=3, actions="disjoint", sd=0.3, norm=2.0, drift="abrupt", pace=3000
    ),
    "fixed25-knots": Features(dim=5, n_actions=25, actions="fixed", sd=0.1, drift="knots", pace=2000),
    "fixed12-ou": Features(dim=4, n_actions=12, actions="fixed", sd=0.3, drift="ou", pace=1000),
}

HELD_OUT = {
    "fresh3-turn": Features(dim=3, n_actions=10, sd=0.6, drift="turn", pace=8000),
    "fixed50-local": Features(dim=10, n_actions=50, actions="fixed", sd=0.2, drift="local", pace=700),
    "fresh10-half-heavy": Features(dim=10, n_actions=12, sd=0.3, drift="half", pace=0.003, tails=3.0),
    "basis6-knots": Features(dim=6, actions="basis", sd=0.25, drift="knots", pace=3000),
    "disjoint5x2-still": Features(dim=10, n_actions=5, context_dim=2, actions="disjoint", sd=0.5, norm=2.0),
    "fixed15-turn-quiet": Features(dim=5, n_actions=15, actions="fixed", sd=0.03, drift="turn", pace=15000),
    "fresh5-ou-large": Features(dim=5, n_actions=30, sd=20.0, norm=100.0, drift="ou", pace=500, feature_scale=7.0),
}

LATER_HELD_OUT = {  # no bars: played once, after the worlds above had been looked at
    "disjoint4x2-walk": Features(
        dim=8, n_actions=4, context_dim=2, actions="disjoint", sd=0.3, norm=2.0, drift="walk", pace=0.002
    ),
    "basis8-local": Features(dim=8, actions="basis", sd=0.2, drift="local", pace=1500),
    "fixed20-walk-offset": Features(dim=4, n_actions=20, actions="fixed", sd=0.3, drift="walk", pace=0.002, offset=5.0),
    "fresh2-knots": Features(dim=2, n_actions=10, sd=0.3, drift="knots", pace=4000),
}

LAST_HELD_OUT = {  # no bars: played once, when width and pending rows had been chosen on worlds above
    "disjoint6x2-still": Features(dim=12, n_actions=6, context_dim=2, actions="disjoint", sd=0.4, norm=2.0),
    "disjoint3x4-walk": Features(
        dim=12, n_actions=3, context_dim=4, actions="disjoint", sd=0.3, norm=2.0, drift="walk", pace=0.0015
    ),
    "fixed25-still": Features(dim=4, n_actions=25, actions="fixed", sd=0.4),
    "fixed18-turn": Features(dim=4, n_actions=18, actions="fixed", sd=0.15, drift="turn", pace=10000),
    "fixed35-abrupt": Features(dim=5, n_actions=35, actions="fixed", sd=0.25, drift="abrupt", pace=2500),
    "fresh7-knots": Features(dim=7, n_actions=12, sd=0.3, drift="knots", pace=5000),
}

LOGISTIC = {
    "logistic-fresh4-knots": Features(dim=4, n_actions=10, link="logistic", norm=3.0, drift="knots", pace=3000),
    "logistic-fixed20-abrupt": Features(
        dim=4, n_actions=20, actions="fixed", link="logistic", norm=3.0, drift="abrupt", pace=5000
    ),
    "logistic-fixed15-knots": Features(
        dim=5, n_actions=15, actions="fixed", link="logistic", norm=3.0, drift="knots", pace=5000
    ),
    "logistic-fixed10-walk": Features(
        dim=3, n_actions=10, actions="fixed", link="logistic", norm=3.0, drift="walk", pace=0.004
    ),
    "logistic-fresh5-still": Features(dim=5, n_actions=10, link="logistic", norm=2.0),
}

FIGURE_4 = {"figure4": PiecewiseLinear(dim=5, n_actions=40, actions="fresh", sd=0.1)}

STILL = ("fresh4-still", "fixed40-still", "disjoint5x2-still", "logistic-fresh5-still")
LATE = ("fresh8-abrupt", "fresh6-walk", "fixed20-walk", "disjoint4x3-ou", "fixed25-knots")
