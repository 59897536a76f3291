"""Benchmarks: speed against the peers, and simulation studies; run by ``python -m benchmarks``."""
