"""`driftwise evaluate`: what policies would have earned on a log."""

import json

import click

from driftwise.cli.command import Count, main
from driftwise.cli.log_options import log_options, range_of, read_log
from driftwise.errors import ParameterError

METHODS = ("dr", "ips", "snips", "switch-dr", "replay")
ROUNDS = ("log", "accepted")


@main.command(short_help="Tell what policies would have earned on a log.")
@log_options
@click.option(
    "--policy",
    multiple=True,
    metavar="P",
    help="Policy to evaluate: NAME or NAME:param=value,... of `driftwise policies`, fixed:ARM, uniform, or logged "
    "(what was earned); repeatable.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="dr",
    show_default=True,
    help="dr: predict rewards, and correct the errors by weights. ips, snips: weight rewards by propensities. "
    "switch-dr: dr without weights above --threshold. replay: average the rows where policy and log agree.",
)
@click.option(
    "--periods",
    default="10",
    show_default=True,
    metavar="N",
    help="Number of periods with values of their own; or hour, day, week or month.",
)
@click.option(
    "--rounds",
    type=click.Choice(ROUNDS),
    default="log",
    show_default=True,
    help="What is a round to windows, discounts and horizons. log: a row of the log. accepted: a row that the policy "
    "learns from.",
)
@click.option(
    "--acceptance",
    type=float,
    metavar="SHARE",
    help="Share of rows that a policy learns from; the smallest propensity, at least 0.02, if not given.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="W",
    help="Largest weight that switch-dr uses; chosen by its error bound if not given.",
)
@click.option(
    "--replays", type=Count(1), default=1, show_default=True, metavar="N", help="Number of replays to average."
)
@click.option(
    "--reward-range",
    metavar="LOW,HIGH",
    help="Range of rewards that policies are made for; 0,1 or else the range in the log if not given.",
)
@click.option(
    "--standardise",
    is_flag=True,
    help="Give contextual policies columns of mean 0 and deviation 1, and a constant one.",
)
@click.option(
    "--estimate-propensities", "estimate", is_flag=True, help="Estimate propensities even where the log has them."
)
@click.option("--seed", type=Count(0), default=0, show_default=True, metavar="N", help="Seed of the replays.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def evaluate(
    log: str | None,
    policy: tuple[str, ...],
    method: str,
    periods: str,
    rounds: str,
    acceptance: float | None,
    threshold: float | None,
    replays: int,
    reward_range: str | None,
    standardise: bool,
    estimate: bool,
    seed: int,
    as_json: bool,
    **where: str | None,
) -> None:
    """Tell what policies would have earned on LOG, a file of logged decisions (CSV, JSON lines or Parquet).

    Fixed policies are weighted by propensities; policies that learn are replayed as they learn. Values are rewards per
    decision with 95 % intervals, in all and by period. The log needs some random choices: the column `propensity` has
    their probabilities; without it they are estimated. Columns that no option names are guessed from their names and
    content; an empty name means that there is no such column.
    """
    if not policy:
        raise ParameterError("no policy to evaluate: give --policy, such as sliding-thompson:window=1000 or fixed:ARM")
    from driftwise.cli.terminal import working

    with working("replaying the log; a policy that is new here is compiled first"):
        found = read_log(log, where).evaluate(
            list(policy),
            method=method,
            periods=periods,
            rounds=rounds,
            acceptance=acceptance,
            threshold=threshold,
            replays=replays,
            reward_range=None if reward_range is None else range_of(reward_range),
            standardise=standardise,
            estimate=estimate,
            seed=seed,
        )
    if as_json:
        click.echo(json.dumps(found.as_dict()))
        return
    from driftwise.cli.evaluation_table import show_evaluation

    show_evaluation(found)
