"""Drills and their versions, whose packages live in the database."""
