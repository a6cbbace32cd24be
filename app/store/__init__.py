"""The database: the truth from which the queue and the pages are derived."""
