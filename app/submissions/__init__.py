"""Submissions: taken in, looked at, followed, cancelled."""
