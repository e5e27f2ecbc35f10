"""The command line: `driftwise recommend | diagnose | evaluate | simulate | reproduce | policies | serve | ...`.

Everything heavy is imported inside a command, so that help answers at once. What programs read (`--json`) goes to
standard output alone; progress and messages go to standard error. Bad input is one sentence and exit code 2.
"""

from driftwise.cli import (
    compile_ahead,
    diagnose,
    evaluate,
    lists,
    recommend,
    reproduce,
    serve,
    simulate,
    store,
)  # they add their commands
from driftwise.cli.command import main

__all__ = [
    "compile_ahead",
    "diagnose",
    "evaluate",
    "lists",
    "main",
    "recommend",
    "reproduce",
    "serve",
    "simulate",
    "store",
]
