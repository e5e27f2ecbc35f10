"""The journal and where it is kept: SQLite or PostgreSQL."""
