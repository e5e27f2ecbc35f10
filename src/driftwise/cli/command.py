"""The group all commands belong to, and what they have in common: counts, refusals, exit codes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from driftwise import __version__
from driftwise.core.extras import needed_for
from driftwise.errors import DriftwiseError, ParameterError

KINDS = "multi-armed, contextual, knapsack, contextual-knapsack, convex, restless or slate"  # for help, which is quick
THREADS_HELP = "Number of threads; all cores if not given."
CLUSTER_HELP = "Play on the Dask cluster at this address; `local`: on a process per core of this machine."


class Refusal(click.ClickException):
    """Bad input: one sentence on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:
        click.echo(f"driftwise: {self.format_message()}", err=True)


class Stopped(Refusal):
    """Ctrl-C, where a command has nothing to say about what it leaves behind."""

    exit_code = 1


class Count(click.ParamType):  # type: ignore[type-arg]  # in click 8.1 it takes no parameter
    """A whole number of at least `low`, which may be written 1e6 or 1_000_000."""

    name = "whole number"

    def __init__(self, low: int) -> None:
        self.low = low

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from driftwise.core.validation import whole

        name = (param and param.name) or "value"
        text = str(value)
        try:
            return whole(name, int(text) if text.lstrip("-").replace("_", "").isdigit() else float(text), low=self.low)
        except ValueError:
            raise ParameterError(f"{name}={value} is not a whole number of at least {self.low}") from None


class Commands(click.Group):
    """Turns what driftwise raises on purpose, and what click does not understand, into a refusal."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _misread():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with needed_for("this command"), _misread():
                return super().invoke(ctx)
        except DriftwiseError as error:
            raise Refusal(str(error)) from None
        except KeyboardInterrupt:
            raise Stopped("stopped") from None
        except MemoryError:
            raise Refusal(
                "that needs more memory than there is: fewer arms, or a shorter horizon, window or delay"
            ) from None


@contextmanager
def _misread() -> Iterator[None]:
    """In place of click's four lines, one that says what it did not understand and where the help is."""
    try:
        yield
    except click.UsageError as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # new in click 8.2
            raise
        message = error.format_message()
        command = error.ctx.command_path if error.ctx is not None else "driftwise"
        end = "" if message.endswith(("?", ".")) else "."
        raise Refusal(f"{message[:1].lower()}{message[1:]}{end} Help: {command} --help") from None


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "auto_envvar_prefix": "DRIFTWISE"}


@click.group(cls=Commands, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="driftwise")
def main() -> None:
    """Sequential decisions when the world drifts.

    Start with `driftwise demo`. Then pick a world and let policies compete in it:

    \b
        driftwise simulate --world abrupt --policy thompson --policy sliding-thompson:window=500
    """  # noqa: D301
