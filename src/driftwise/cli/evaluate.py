"""`driftwise evaluate`: what policies would have earned on a log."""

import json

import click

from driftwise.cli.command import Count, main
from driftwise.cli.log_options import log_options, read_log
from driftwise.errors import ParameterError


@main.command(short_help="Tell what policies would have earned on a log.")
@log_options
@click.option(
    "--policy",
    multiple=True,
    metavar="P",
    help="A policy: `name` or `name:param=value,...`, `fixed:ARM`, `uniform` or `logged`; repeatable.",
)
@click.option("--method", default="dr", show_default=True, metavar="M", help="dr, ips, snips, switch-dr or replay.")
@click.option("--periods", default="10", show_default=True, metavar="N", help="Periods; or hour, day, week, month.")
@click.option("--rounds", default="log", show_default=True, help="What a round is: a row of the log, or accepted rows.")
@click.option("--acceptance", type=float, metavar="SHARE", help="Share of rows a policy learns from in its replay.")
@click.option("--threshold", type=float, metavar="W", help="The largest weight that switch-dr trusts.")
@click.option("--replays", type=Count(1), default=1, show_default=True, metavar="N", help="Replays to average.")
@click.option("--reward-range", metavar="LOW,HIGH", help="The range of rewards that policies read.")
@click.option("--standardise", is_flag=True, help="Standardise the context and add a constant, for its policies.")
@click.option("--estimate-propensities", "estimate", is_flag=True, help="Estimate propensities the log has, too.")
@click.option("--seed", type=Count(0), default=0, show_default=True, metavar="N", help="Seed of the replays.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
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
    their probabilities; without it they are estimated.
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
            reward_range=None if reward_range is None else _pair(reward_range),
            standardise=standardise,
            estimate=estimate,
            seed=seed,
        )
    if as_json:
        click.echo(json.dumps(found.as_dict()))
        return
    from driftwise.cli.evaluation_table import show_evaluation

    show_evaluation(found)


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"reward-range={text} is not two numbers, LOW,HIGH") from None
    return low, high
