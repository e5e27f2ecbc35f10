"""The OpenAPI document, made from the table of endpoints and the types they take and give."""

import re
from importlib.metadata import version
from typing import Any

import msgspec

from driftwise.serve.answers import Problem
from driftwise.serve.export import MEDIA
from driftwise.serve.http import Endpoint
from driftwise.serve.keys import SCOPES

BINARY = {"type": "string", "format": "binary"}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A key with the same body is answered as before, for 48 hours; with another body it is refused.",
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
    types = [kind for each in table for kind in (each.takes, each.gives) if kind not in (None, bytes)]
    types = [*dict.fromkeys([*types, Problem])]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in table:
        paths.setdefault(re.sub(r":int}", "}", each.path), {})[each.method.lower()] = _operation(each, by_type)
    told: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "driftwise",
            "version": version("driftwise"),
            "description": "Decisions when the world drifts: decide now, reward later, nothing lost.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key, or the token."}
            },
        },
        "security": [{"key": []}, {}],
    }
    return _plain(told)  # type: ignore[no-any-return]


def _operation(each: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    doc = (each.handler.__doc__ or "").strip()
    told: dict[str, Any] = {"operationId": each.handler.__name__, "summary": doc}
    told["description"] = f"Needs a key with the scope `{each.scope}`: {SCOPES[each.scope or 'read']}."
    found = re.findall(r"{([a-z:]+)}", each.path)
    parameters = [
        {"name": word.removesuffix(":int"), "in": "path", "required": True, "schema": PATH[word]} for word in found
    ]
    parameters += [
        {"name": word, "in": "query", "required": False, "schema": TYPES[kind], "description": about}
        for word, (kind, about) in each.query.items()
    ]
    told["parameters"] = [*parameters, *([KEY] if each.keyed else [])]
    if each.takes is not None:
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": schemas[each.takes]}}}
    if each.gives is bytes:
        media = (
            [*MEDIA.values()] if each.path.endswith("/log") else ["application/octet-stream", "application/vnd.sqlite3"]
        )
        content: dict[str, Any] = {name.partition(";")[0]: {"schema": BINARY} for name in media}
    else:
        content = {"application/json": {"schema": schemas[each.gives]}}
    refused = {
        "description": "Refused; nothing was changed.",
        "content": {"application/json": {"schema": schemas[Problem]}},
    }
    told["responses"] = {str(each.status): {"description": "Done.", "content": content}, "default": refused}
    return told


def _plain(value: Any) -> Any:
    """Patterns as JavaScript knows them."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.replace(r"\Z", "$") if isinstance(value, str) else value
