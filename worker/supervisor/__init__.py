"""Supervises judge and runners from a process that never touches torch or a GPU: it starts, watches, kills."""
