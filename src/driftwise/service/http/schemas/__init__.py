"""Requests and responses as types; the OpenAPI document is generated from them."""
