"""Liu, Jiang & Li, *Non-stationary Bandits with Knapsacks*, NeurIPS 2022."""

from driftwise.papers import Paper
from driftwise.papers.knapsacks.answer import ANSWER
from driftwise.papers.knapsacks.claims import claims
from driftwise.papers.knapsacks.figures import figures
from driftwise.papers.knapsacks.studies import studies
from driftwise.papers.knapsacks.tables import tables

PAPER = Paper(
    name="knapsacks",
    title="Non-stationary Bandits with Knapsacks",
    source="Liu, Jiang & Li, NeurIPS 2022",
    notes=(
        "The paper has no experiments: what it proves is compared with runs and with linear programs.",
        "Powers are those of the steady regret, in which what was spent beyond its mean is given back at the prices of "
        "the best plan. Its mean is that of the regret. They agree when the fitted line is off by less than a quarter "
        "between its ends.",
        "Algorithm 1 is played as printed, which is the literal reading, and with a quarter and a tenth of its radius, "
        "bounds cut to [0, 1]; the last also with the budget that is left. As printed it explores most of the time at "
        "any T that can be played.",
        "V is known to Algorithm 1, as the paper asks. The recommended policy, prequential-pacing, is not in the "
        "paper, knows nothing of the drift, and has no proof.",
        "UCB-BwK, PrimalDualBwK and LagrangeBwK are written from what is generally known of them.",
    ),
    studies=studies,
    claims=claims,
    figures=figures,
    answer=ANSWER,
    tables=tables,
)
