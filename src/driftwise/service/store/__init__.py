"""The journal, and its stores: SQLite and PostgreSQL."""
