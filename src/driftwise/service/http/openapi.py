"""The OpenAPI document, generated from the table of endpoints and the types of their requests and responses.

It is written so that generators of clients can use it: no tuples (arrays of a length instead), no defaults (a field
that may be left out is not required, and its description says what is taken then), errors by status, tags, examples.
"""

import inspect
import re
from importlib.metadata import version
from typing import Any, cast

import msgspec

from driftwise.service.http.api_keys import SCOPES
from driftwise.service.http.endpoint import Endpoint
from driftwise.service.http.errors import ERRORS, PROBLEM_JSON, HttpError
from driftwise.service.http.schemas.responses import ErrorBody

PLAIN: dict[Any, dict[str, str]] = {bytes: {"type": "string", "format": "binary"}, str: {"type": "string"}}
TAGS = {  # in the order of the document: by the last part of a path that is one of these
    "decisions": ("decide", "learn", "cancel", "decisions"),
    "arms": ("arms",),
    "logs and backups": ("log", "agent", "backup", "snapshot", "verify"),
    "keys and audit": ("keys", "audit", "caller"),
    "service": ("healthz", "readyz", "metrics", "openapi.json"),
    "deployments": ("deployments",),
}
EXAMPLES: dict[str, object] = {
    "DeploymentSpec": {
        "name": "shop",
        "policy": "auto",
        "problem": {"kind": "multi-armed", "arms": ["red", "green", "blue"]},
        "reward_window": 3600,
    },
    "DecideRequest": {"unit": "visitor-17"},
    "DecideManyRequest": {"decisions": [{}, {"unit": "visitor-17"}]},
    "DecideResponse": {"id": 41, "action": "green", "propensity": None, "decided_at": "2026-03-01T12:00:00Z"},
    "LearnRequest": {"id": 41, "reward": 1.0},
    "LearnManyRequest": {"outcomes": [{"id": 41, "reward": 1.0}, {"id": 42, "reward": 0.0}]},
    "LearnResponse": {"id": 41, "status": "learned"},
    "CancelRequest": {"id": 41},
    "ChangeRequest": {"policy": "sliding-thompson:window=5000"},
    "AddArmRequest": {"name": "violet"},
    "RetireArmRequest": {"name": "red"},
    "CreateKeyRequest": {"name": "web shop", "scopes": ["decide", "learn"], "deployments": ["shop"]},
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request repeated with the same key is done once and answered alike, for 48 hours.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
PATH = {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"},
    "id": {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    "id:int": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
}
TYPES = {str: {"type": "string"}, int: {"type": "integer"}}


def document(table: list[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    types = [kind for each in table for kind in (each.request, each.response) if kind not in (None, bytes, str)]
    types = [*dict.fromkeys([*types, ErrorBody])]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    components["ErrorBody"]["properties"]["code"]["enum"] = [*ERRORS]
    paths: dict[str, dict[str, Any]] = {}
    for each in table:
        paths.setdefault(re.sub(r":int}", "}", each.path), {})[each.method.lower()] = _operation(each, by_type)
    result: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "driftwise",
            "version": version("driftwise"),
            "description": "Decisions when the world drifts: decide now, reward later, nothing lost.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in TAGS],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {code: _error(kind, by_type) for code, kind in ERRORS.items()},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key, or the token."}
            },
        },
        "security": [{"key": []}, {}],
    }
    return cast(dict[str, Any], _tidy(result))


def _operation(each: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name.removesuffix(":int"), "in": "path", "required": True, "schema": PATH[name]}
        for name in re.findall(r"{([a-z:]+)}", each.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": TYPES[kind], "description": about}
        for name, (kind, about) in each.query.items()
    ]
    operation: dict[str, Any] = {
        "operationId": each.handler.__name__,
        "tags": [_tag(each.path)],
        "summary": (each.handler.__doc__ or "").strip(),
        "parameters": [*parameters, *([KEY] if each.idempotent else [])],
    }
    if each.scope is None:
        operation["security"] = [{}]
    else:
        operation["description"] = f"Needs an API key with the scope `{each.scope}`: {SCOPES[each.scope]}."
    if each.request is not None:
        content = _content("application/json", schemas[each.request], each.request)
        operation["requestBody"] = {"required": True, "content": content}
    schema = PLAIN[each.response] if each.response in PLAIN else schemas[each.response]
    content = {name: value for media in each.media for name, value in _content(media, schema, each.response).items()}
    operation["responses"] = {
        str(each.status): {"description": "Success.", "content": content},
        **{str(status): _errors(status, schemas) for status in _statuses(each)},
        "default": _error(HttpError, schemas),
    }
    return operation


def _tag(path: str) -> str:
    parts = path.strip("/").split("/")
    return next((tag for tag, words in TAGS.items() if any(part in words for part in parts)), "service")


def _statuses(each: Endpoint) -> list[int]:
    """The errors that an endpoint can be answered with, besides those of any request."""
    takes_input = each.request is not None or bool(each.query)
    changes = each.method != "GET"
    possible = {
        400: takes_input,
        401: each.scope is not None,
        403: each.scope is not None,
        404: "{" in each.path,
        409: changes,
        413: each.request is not None,
        422: each.request is not None,
        429: changes,
        503: each.path != "/healthz",
    }
    return [status for status, holds in possible.items() if holds]


def _errors(status: int, schemas: dict[Any, Any]) -> dict[str, Any]:
    """The response with a status: one of the codes that have it."""
    kinds = [kind for kind in ERRORS.values() if kind.status == status]
    about = " ".join(f"`{kind.code}`: {' '.join((kind.__doc__ or '').split())}" for kind in kinds)
    return {"description": about, "content": _content(PROBLEM_JSON.decode(), schemas[ErrorBody])}


def _error(kind: type[HttpError], schemas: dict[Any, Any]) -> dict[str, Any]:
    about = " ".join((kind.__doc__ or "").split())
    prefix = "" if kind is HttpError else f"{kind.status} `{kind.code}`. "
    return {"description": prefix + about, "content": _content(PROBLEM_JSON.decode(), schemas[ErrorBody])}


def _content(media: str, schema: dict[str, Any], kind: type | None = None) -> dict[str, Any]:
    example = EXAMPLES.get(getattr(kind, "__name__", ""))
    return {media.partition(";")[0]: {"schema": schema} | ({} if example is None else {"example": example})}


def _tidy(value: object) -> object:
    """What OpenAPI, or generators of clients, want otherwise than msgspec says it."""
    if isinstance(value, dict):
        return {key: _tidy(each) for key, each in _without_default(_without_tuple(_one_of(value))).items()}
    if isinstance(value, list | tuple):
        return [_tidy(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _one_of(schema: dict[str, Any]) -> dict[str, Any]:
    """A tagged union is one of its types."""
    union = "oneOf" if "discriminator" in schema else "anyOf"
    return {union if key == "anyOf" else key: value for key, value in schema.items()}


def _without_tuple(schema: dict[str, Any]) -> dict[str, Any]:
    """A tuple as an array of its length, of what its items are; an array of anything says so."""
    if "prefixItems" not in schema:
        return schema | ({"items": {}} if schema.get("type") == "array" and "items" not in schema else {})
    kinds = [kind for place, kind in enumerate(schema["prefixItems"]) if kind not in schema["prefixItems"][:place]]
    rest = {key: value for key, value in schema.items() if key != "prefixItems"}
    return rest | {"items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    """A default in words: generators make a field with one required, though it may be left out."""
    if "default" not in schema or (isinstance(schema["default"], dict) and schema["default"]):
        return schema  # the response to any other status has that name, too
    rest = {key: value for key, value in schema.items() if key != "default"}
    if schema["default"] is None:
        return rest
    about = f"{schema.get('description', '')} Default: {msgspec.json.encode(schema['default']).decode()}.".strip()
    return rest | {"description": about}


def _text(text: str) -> str:
    """A docstring without its examples, which are Python's; a pattern that ends as in JavaScript."""
    return inspect.cleandoc(text.partition(">>>")[0]).rstrip().replace(r"\Z", "$")
