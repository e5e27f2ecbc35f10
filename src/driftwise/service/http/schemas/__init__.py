"""Requests and responses as types; the OpenAPI document is made of them."""
