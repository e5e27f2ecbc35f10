"""The OpenAPI document, generated from the table of endpoints and the types of their requests and responses."""

import inspect
import re
from importlib.metadata import version
from typing import Any, cast

import msgspec

from driftwise.service.http.api_keys import SCOPES
from driftwise.service.http.endpoint import Endpoint
from driftwise.service.http.errors import ERRORS, PROBLEM_JSON, HttpError
from driftwise.service.http.schemas.responses import ErrorBody

BINARY = {"type": "string", "format": "binary"}
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
    types = [kind for each in table for kind in (each.request, each.response) if kind not in (None, bytes)]
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
        },
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
        "summary": (each.handler.__doc__ or "").strip(),
        "description": f"Needs an API key with the scope `{each.scope}`: {SCOPES[each.scope or 'read']}.",
        "parameters": [*parameters, *([KEY] if each.idempotent else [])],
    }
    if each.request is not None:
        operation["requestBody"] = {"required": True, "content": _content("application/json", schemas[each.request])}
    schema = BINARY if each.response is bytes else schemas[each.response]
    content = {name: value for media in each.media for name, value in _content(media, schema).items()}
    operation["responses"] = {
        str(each.status): {"description": "Success.", "content": content},
        "default": _error(HttpError, schemas),
    }
    return operation


def _error(kind: type[HttpError], schemas: dict[Any, Any]) -> dict[str, Any]:
    about = " ".join((kind.__doc__ or "").split())
    prefix = "" if kind is HttpError else f"{kind.status} `{kind.code}`. "
    return {"description": prefix + about, "content": _content(PROBLEM_JSON.decode(), schemas[ErrorBody])}


def _content(media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {media.partition(";")[0]: {"schema": schema}}


def _tidy(value: object) -> object:
    """What OpenAPI says otherwise than msgspec: a tagged union is one of its types, and patterns are JavaScript's."""
    if isinstance(value, dict):
        union = "oneOf" if "discriminator" in value else "anyOf"
        return {union if key == "anyOf" else key: _tidy(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_tidy(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    """A docstring without its examples, which are Python's; a pattern that ends as in JavaScript."""
    return inspect.cleandoc(text.partition(">>>")[0]).rstrip().replace(r"\Z", "$")
