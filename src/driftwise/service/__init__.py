"""The decision service: decide now, learn later, nothing lost.

    driftwise serve --store sqlite:///driftwise.db

| folder | holds |
|---|---|
| `store` | the journal, the source of truth: events, answers and snapshots, in SQLite or PostgreSQL; group commit |
| `deployments` | a deployment is the fold of its events; decisions, admin commands, queries, statistics |
| `http` | the HTTP API: endpoints, schemas, errors, access, the server |
| `client` | the HTTP API from Python |
| `dashboard` | web pages |
| `demo` | simulated clients |
"""
