"""Oracles and reference kernels: numerics only. Imports torch and triton and nothing of ours."""
