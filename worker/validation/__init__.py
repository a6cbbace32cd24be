"""Validates a drill: its code and its submissions go through the real judge, and what comes back is judged."""
