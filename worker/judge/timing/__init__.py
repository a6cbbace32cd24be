"""Trusted timing: the judge's clock, fresh inputs in every round, every timed output checked."""
