"""The queue: derived from the database, carried by Redis, never the truth."""
