"""A log as the command line names it: its file or deployment, and the options that name its columns."""

import shlex
from collections.abc import Mapping

UNNAMED = "LOG"  # a frame, or arrays: no command has a name for them


def command_options(columns: Mapping[str, object]) -> tuple[str, ...]:
    """Arguments of `Log.read` as options; those that are None were not given.

    >>> command_options({"action": "price", "time": None, "rewarded_at": "", "context": ["age", "home town"]})
    ('--action=price', '--rewarded-at=', '--context=age,home town')
    """
    texts = {
        name: value if isinstance(value, str) else ",".join(map(str, value))  # type: ignore[call-overload]
        for name, value in columns.items()
        if value is not None
    }
    return tuple(f"--{name.replace('_', '-')}={text}" for name, text in texts.items())


def command_words(name: str, options: tuple[str, ...]) -> str:
    """The words of a command that name a log; `name` stands as it is.

    >>> command_words("LOG", ("--context=age,home town",))
    "LOG '--context=age,home town'"
    """
    return f"{name} {shlex.join(options)}".strip()
