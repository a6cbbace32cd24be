"""Workers: who they are, what they judge with, and that they live."""
