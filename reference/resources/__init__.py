"""Registers, spills and shared memory of the reference kernels, without a GPU: ``python -m reference.resources``."""
