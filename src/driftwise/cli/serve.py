"""`driftwise serve` and `driftwise keys`: the decision service and its API keys."""

import difflib
import os
import tomllib
from contextlib import ExitStack
from pathlib import Path

import click
from click.core import ParameterSource

from driftwise.cli.command import Count, main
from driftwise.cli.warm_up import warm_up, warm_up_options
from driftwise.core.extras import needed_for
from driftwise.errors import ParameterError

STORE_HELP = "Store of the service: sqlite:///FILE, or postgresql://... with the extra `postgres`."
URL_HELP = "Address of a running service, in place of its store, such as http://127.0.0.1:8000."


def _read_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Take options from a TOML file, under those of the command line and the environment."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"--config {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError(f"--config {path} is not TOML: {error}") from None
    known = {parameter.name: parameter for parameter in context.command.params}
    settings = {name.replace("-", "_"): value for name, value in values.items()}
    for name in settings:
        if name not in known or name == "config":
            raise ParameterError(f"--config {path} has {name!r}, which is not an option of serve")
    context.default_map = {**(context.default_map or {}), **settings}
    return path


@main.command(short_help="Run the decision service (HTTP).")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="TOML file with any of these options, e.g. max-body = 65536.",
)
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="H",
    help="Address to listen at; any but loopback needs an API key.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8000, show_default=True, metavar="N", help="Port to listen at."
)
@click.option(
    "--durability",
    type=click.Choice(["full", "normal"]),
    default="full",
    show_default=True,
    help="full: answer when the disk has the data; nothing acknowledged is lost, even by a power cut. normal: answer "
    "when the operating system has it; a power cut may lose the last moments, a crash does not.",
)
@click.option(
    "--max-body", type=Count(1), default=262_144, show_default=True, metavar="BYTES", help="Largest size of a request."
)
@click.option(
    "--max-connections",
    type=Count(1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Largest number of connections.",
)
@click.option(
    "--max-per-client",
    type=Count(1),
    default=500,
    show_default=True,
    metavar="N",
    help="Largest number of connections from one address; all that come through a proxy have its address.",
)
@click.option(
    "--max-rate",
    type=click.FloatRange(min=0),
    default=5000.0,
    show_default=True,
    metavar="N",
    help="Requests per second of each API key; 0: no limit.",
)
@click.option(
    "--max-per-day",
    type=Count(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Requests per day (UTC) of each API key; 0: no limit.",
)
@click.option(
    "--keep-keys",
    type=click.FloatRange(0.1, 100_000),
    default=48,
    show_default=True,
    metavar="HOURS",
    help="How long a request with an idempotency key can be repeated.",
)
@click.option(
    "--archive",
    metavar="FOLDER",
    help="Folder for Parquet files of old events, of deployments whose retention has archive: true.",
)
@click.option(
    "--workers",
    type=int,
    metavar="N",
    help="Number of processes that share the port, each on a core; one if not given.",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    help="Address at which other processes of the same store reach this one; --host and --port if not given.",
)
@click.option("--no-auth", is_flag=True, help="Accept requests without a token: for development, on loopback only.")
@click.option("--log-requests", is_flag=True, help="Log every request.")
@click.option("--demo", is_flag=True, help="Run with simulated clients, and without --store in a temporary store.")
@warm_up_options
@click.pass_context
def serve(
    context: click.Context,
    /,
    store: str,
    host: str,
    port: int,
    durability: str,
    max_body: int,
    max_connections: int,
    max_per_client: int,
    max_rate: float,
    max_per_day: int,
    keep_keys: float,
    archive: str | None,
    workers: int | None,
    advertise: str | None,
    no_auth: bool,
    log_requests: bool,
    demo: bool,
    deployment: str | None,
    policy: str,
    log: str | None,
    reward_range: str | None,
    noise: float | None,
    **columns: str | None,
) -> None:
    """Run the decision service: deployments that decide now and learn later over HTTP, and lose nothing.

    The dashboard is at /, the OpenAPI document at /openapi.json; docs/service.md has examples.

    Until the first API key exists (driftwise keys create), every request needs a token. The first start creates it,
    each start prints a link to the dashboard with it, and `driftwise keys token` prints it again.

    Every option can also be set in the environment, e.g. DRIFTWISE_SERVE_PORT, or in a file (--config).

    With --deployment NAME --log FILE, a deployment with the arms of a log is created first, and learns from the log.
    """
    with needed_for("the service"):
        from driftwise.service.demo import LOOK, play
        from driftwise.service.http.endpoint import Limits
        from driftwise.service.http.rate_limits import RateLimits
        from driftwise.service.http.server import exit_on_sigterm, temporary_folder
        from driftwise.service.http.server import serve as run
        from driftwise.service.members.worker import WorkerSettings
        from driftwise.service.members.workers import serve_workers

    _warn_of_unknown_variables(context)
    if demo and workers is not None:
        raise ParameterError(f"--workers {workers} and --demo do not belong together: a demonstration has one process")
    rates = RateLimits(max_rate, max_per_day)
    limits = Limits(max_body, max_connections, max_per_client, rates=rates)
    temporary = demo and context.get_parameter_source("store") == ParameterSource.DEFAULT
    with ExitStack() as stack:
        stack.enter_context(exit_on_sigterm())
        if temporary:
            store = f"sqlite:///{temporary_folder(stack)}/demo.db"
        warm_up(store, durability, deployment, policy, log, columns, reward_range, noise)
        if workers is not None:
            auth, keep_s = not no_auth, 3600 * keep_keys
            settings = WorkerSettings(
                store, host, port, durability, limits, log_requests, auth, keep_s, archive, advertise
            )
            serve_workers(workers, settings, print_line=click.echo)
            return
        if demo:
            click.echo(LOOK.format(url=f"http://{host}:{port}"), err=True)
        run(
            store,
            host=host,
            port=port,
            durability=durability,
            limits=limits,
            log_requests=log_requests,
            keep_answers_s=3600 * keep_keys,
            archive=archive,
            advertise=advertise,
            auth=not (no_auth or temporary),  # a demonstration has only simulated data
            background=play if demo else None,
            print_line=(lambda _: None) if temporary else click.echo,
        )


def _warn_of_unknown_variables(context: click.Context) -> None:
    """Say which variables look like options and are none. They are not refused: others set variables, too."""
    start = f"{context.auto_envvar_prefix}_"
    known = [f"{start}{parameter.name.upper()}" for parameter in context.command.params if parameter.name]
    for name in sorted(os.environ):
        if name.startswith(start) and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            click.echo(f"warning: {name} is not used: serve has no such option{hint}", err=True)


@main.group(short_help="Manage API keys of the service.")
def keys() -> None:
    """Create, list and revoke API keys of the service.

    Create the first one, with --scopes admin, while the service is stopped. From then on every request needs a key, and
    the token is invalid. While the service runs, use --url with an admin key in the environment variable
    DRIFTWISE_KEY.
    """


@keys.command("create")
@click.option("--name", default="key", show_default=True, help="Name of the key, which `driftwise keys list` shows.")
@click.option(
    "--scopes",
    default="decide,learn",
    show_default=True,
    help="What the key allows, separated by commas: read, decide, learn, admin.",
)
@click.option("--days", type=float, metavar="N", help="Days until the key expires; it never does if not given.")
@click.option(
    "--deployment", multiple=True, metavar="NAME", help="Allow this deployment only; all if not given; repeatable."
)
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help=URL_HELP)
def create_key(
    name: str, scopes: str, days: float | None, deployment: tuple[str, ...], store: str, url: str | None
) -> None:
    """Create a key and print it. That is the only time: just its hash is stored."""
    with needed_for("the service"):
        from driftwise.cli.keys import create

    names = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    key = create(store, url, name=name, scopes=names, days=days, deployments=list(deployment) or None)
    click.echo(key)
    click.echo("Store this key now: it cannot be printed again.", err=True)


@keys.command("token")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
def show_token(store: str) -> None:
    """Print the token of a service that has no API keys yet."""
    with needed_for("the service"):
        from driftwise.service.http.token import show_token

    click.echo(show_token(store))


@keys.command("list")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help=URL_HELP)
def list_keys(store: str, url: str | None) -> None:
    """List keys: id, name, scopes, deployments and when they expire."""
    with needed_for("the service"):
        from driftwise.cli.keys import list_keys

    lines = list(list_keys(store, url))
    for line in lines:
        click.echo(line)
    if not lines:
        click.echo("no API keys: create the first one with `driftwise keys create --scopes admin`", err=True)


@keys.command("revoke")
@click.argument("id")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help=URL_HELP)
def revoke_key(id: str, store: str, url: str | None) -> None:
    """Revoke the key with this ID, which `driftwise keys list` shows."""
    with needed_for("the service"):
        from driftwise.cli.keys import revoke

    revoke(store, url, id)
    click.echo(f"API key {id} revoked", err=True)
