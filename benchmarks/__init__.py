"""Benchmarks: speed against the peers, memory, and convergence; run by ``python -m benchmarks``."""
