"""What lies between the machine and code that is not trusted. Knows nothing of grading."""
