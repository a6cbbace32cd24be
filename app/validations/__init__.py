"""Validations of drill versions: claimed by one worker at a time, told as numbered events, ended by a report."""
