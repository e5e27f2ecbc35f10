"""The decision service: decide now, reward later, nothing lost.

    driftwise serve --store sqlite:///driftwise.db

| folder | holds |
|---|---|
| `store` | the journal, which is the truth: events, answers and snapshots, in SQLite or PostgreSQL; group commit |
| `deployments` | a deployment is the fold of its events; what can be decided, learned, changed and asked |
| `http` | the same over HTTP: endpoints, schemas, errors, access, the server |
| `client` | the same from Python |
| `dashboard` | the pages people open in a browser |
| `demo` | simulated clients to look at |
"""
