"""Whether the service lives, and whether it can do its work."""
