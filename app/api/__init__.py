"""What every route shares: who calls, sessions, problems, and which requests are let in."""
