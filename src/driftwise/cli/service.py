"""`driftwise serve` and `driftwise keys`: decisions over HTTP, and who may ask for them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click
from click.core import ParameterSource

from driftwise.cli.command import Count, main
from driftwise.core.extras import needed_for

STORE_HELP = "sqlite:///FILE, or postgresql://... with the extra `postgres`."


@main.command(short_help="Decide over HTTP, and lose nothing.")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="H", help="Address; others than this need keys."
)
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, metavar="N", help="Port.")
@click.option(
    "--durability",
    type=click.Choice(["full", "normal", "none"]),
    default="full",
    show_default=True,
    help="full: answered when the disk has it; nothing acknowledged is lost, even by a power cut. normal: when the "
    "system has it; a client alone waits a quarter less, many at once hardly gain, and a power cut may lose the last "
    "moments. none: before it is written; a client alone waits half as long, and a crash may lose the last moments.",
)
@click.option("--max-body", type=Count(), default=262_144, show_default=True, metavar="BYTES", help="Longest request.")
@click.option("--max-connections", type=Count(), default=1000, show_default=True, metavar="N", help="At one time.")
@click.option("--log-requests", is_flag=True, help="A line in the log for every request.")
@click.option("--demo", is_flag=True, help="Simulate clients to look at; without --store nothing is kept.")
@click.pass_context
def serve(
    context: click.Context,
    store: str,
    host: str,
    port: int,
    durability: str,
    max_body: int,
    max_connections: int,
    log_requests: bool,
    demo: bool,
) -> None:
    """Decide over HTTP: deployments that decide now and learn later, and lose nothing.

    The dashboard is at /, the OpenAPI document at /openapi.json; docs/service.md has examples.
    """
    with _service():
        from driftwise.serve.demo import LOOK, play
        from driftwise.serve.http import Limits
        from driftwise.serve.server import orderly, scratch
        from driftwise.serve.server import serve as run

    limits = Limits(max_body, max_connections)
    with ExitStack() as stack:
        stack.enter_context(orderly())
        if demo and context.get_parameter_source("store") == ParameterSource.DEFAULT:
            store = f"sqlite:///{stack.enter_context(scratch())}/demo.db"
        if demo:
            click.echo(LOOK.format(url=f"http://{host}:{port}"), err=True)
        run(
            store,
            host=host,
            port=port,
            durability=durability,
            limits=limits,
            log_requests=log_requests,
            beside=play if demo else None,
        )


@main.group(short_help="Who may ask the service for what.")
def keys() -> None:
    """Keys for the service: who may read, decide, learn and administer.

    Once there is a key, every request needs one. While the service runs, its store is its own: use --url with an
    admin key (in the environment as DRIFTWISE_KEY), or nothing on a service that has none yet.
    """


@keys.command("create")
@click.option("--name", default="key", show_default=True, help="Whose key, for the list.")
@click.option("--scopes", default="decide,learn", show_default=True, help="Of read, decide, learn and admin.")
@click.option("--days", type=float, metavar="N", help="It expires after this; never if not given.")
@click.option("--deployment", multiple=True, metavar="NAME", help="Good for this deployment only; repeatable.")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def create_key(
    name: str, scopes: str, days: float | None, deployment: tuple[str, ...], store: str, url: str | None
) -> None:
    """Make a key. It is shown once: only its hash is kept."""
    with _service():
        from driftwise.serve.keyring import create

    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    made = create(store, url, name=name, scopes=wanted, days=days, deployments=list(deployment) or None)
    click.echo(made)
    click.echo("Keep it: it cannot be shown again.", err=True)


@keys.command("list")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def list_keys(store: str, url: str | None) -> None:
    """List keys: id, name, scopes, deployments and when they expire."""
    with _service():
        from driftwise.serve.keyring import listed

    for line in listed(store, url):
        click.echo(line)


@keys.command("revoke")
@click.argument("id")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def revoke_key(id: str, store: str, url: str | None) -> None:
    """Revoke the key with this ID."""
    with _service():
        from driftwise.serve.keyring import revoke

    revoke(store, url, id)
    click.echo(f"{id} opens nothing any more", err=True)


@contextmanager
def _service() -> Iterator[None]:
    """Say which extra is missing."""
    with needed_for("the service"):
        yield
