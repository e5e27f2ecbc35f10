"""The decision service: decide now, reward later, nothing lost.

    driftwise serve --store sqlite:///driftwise.db

| file | holds |
|---|---|
| `journal` | the truth: events, answers, snapshots; in SQLite (`sqlite_journal`) or PostgreSQL (`postgres_journal`) |
| `writer` | group commit: one thread, many requests to a commit |
| `events` | what can happen to a deployment |
| `settings` | what a deployment is made with, and the agent made of it |
| `deployment` | the fold of its events: an agent, what waits, who is held to which arm |
| `monitor`, `notes`, `report` | what people look at: taking note of it, the notes, and what is told of them |
| `moving` | arms that move on their own: what is said of them, and why they are activated |
| `engine` | all deployments: done in memory, answered after the commit |
| `deciding`, `changing`, `asking` | what can be done with them |
| `catalogue`, `keys` | which deployments there are, and API keys |
| `access`, `token` | who may ask: holders of a key, or of the token before there is one |
| `wire`, `words`, `answers` | what is sent and answered, as types |
| `openapi`, `app`, `guard`, `connection`, `places`, `server` | the same over HTTP |
| `pages`, `demo` | the dashboard, and a simulated client to look at |
| `client`, `requests` | the same from Python |
"""
