"""Errors of bodies that cannot be decoded: the decoder's sentence, and where a field belongs."""

import re

import msgspec

from driftwise.core.family import FAMILIES
from driftwise.service.http.schemas.requests import ProblemChanges

NAME_PATTERN = "{1,64}"  # in the error of a decoder
NAME_RULE = "a name consists of 1 to 64 letters, digits, `_`, `.` and `-`"
UNKNOWN = re.compile(r"Object contains unknown field `(.+?)`(?: - at `(.+)`)?", re.DOTALL)
KIND_WORDS = ("family", "kind")  # at the top level, for the kind of a problem
MAX_QUOTE = 100


class _Body(msgspec.Struct):
    problem: dict[str, object]


def decode_error(body: bytes, error: str, request: type | None = None) -> str:
    """What is wrong with a body; `request` is the type that it should have."""
    if not body.strip():
        return "the body is empty: send a JSON document, at least {}"
    if NAME_PATTERN in error:
        error = NAME_RULE
    if error.endswith("`$.problem.kind`"):
        error = f"{error}; a problem is one of {', '.join(FAMILIES)}"
    if "malformed" in error and re.search(rb"NaN|Infinity|nan|inf", body):
        error += "; JSON has no NaN and no infinity"
    if (unknown := UNKNOWN.fullmatch(error)) is not None:
        error = _unknown_field(unknown[1][:MAX_QUOTE], unknown[2], body, request)
    return f"the body is not valid: {error}"


def _unknown_field(field: str, path: str | None, body: bytes, request: type | None) -> str:
    """Where an unknown field belongs, or which fields there are."""
    if path == "$.problem":
        changes = request is not None and "name" not in _fields(request)
        return _unknown_in_changes(field) if changes else _unknown_in_problem(field, body)
    if path is not None or request is None:
        return f"unknown field `{field}` at `{path or '$'}`"
    options = _fields(request)
    if "problem" in options:
        creates = "name" in options  # a change of a deployment does not repeat the kind of its problem
        if field in KIND_WORDS and creates:
            return f'`{field}` is the `kind` of `problem`: {{"problem": {{"kind": "multi-armed", "arms": [...]}}}}'
        owners = _owners(field)
        if owners:
            kind = f'"kind": "{owners[0]}", ' if creates else ""
            return f'`{field}` belongs inside `problem`: {{"problem": {{{kind}"{field}": ...}}}}'
    return f"unknown field `{field}`; allowed: {', '.join(options)}"


def _unknown_in_problem(field: str, body: bytes) -> str:
    try:
        kind = msgspec.json.decode(body, type=_Body).problem.get("kind")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # what follows the field is not valid either
        kind = None
    if not isinstance(kind, str) or kind not in FAMILIES:
        return f"unknown field `{field}` in `problem`"
    owners = _owners(field)
    elsewhere = f"; problems of the kind {' or '.join(owners)} have it" if owners else ""
    return f"a {kind} problem has no field `{field}`: it has {', '.join(_fields(FAMILIES[kind].problem))}{elsewhere}"


def _unknown_in_changes(field: str) -> str:
    """What can be changed of the problem of a deployment, and how its arms are."""
    if field == "arms":
        return (
            "`arms` in `problem` cannot be changed: add one with POST /v1/deployments/NAME/arms, and retire one with "
            "POST /v1/deployments/NAME/arms/retire"
        )
    return f"unknown field `{field}` in `problem`; a change allows: {', '.join(_fields(ProblemChanges))}"


def _owners(field: str) -> list[str]:
    """The families whose problems have a field."""
    return [name for name, family in FAMILIES.items() if field in _fields(family.problem)]


def _fields(struct: type) -> list[str]:
    return [field.name for field in msgspec.structs.fields(struct)]
