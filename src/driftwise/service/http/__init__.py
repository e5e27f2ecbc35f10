"""The HTTP API: endpoints, schemas, errors, access, the server."""
