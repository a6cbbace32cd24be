"""The judge: trusted, holds inputs, oracle, tolerances and the clock; no network, database, broker or secrets."""
