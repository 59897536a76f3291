"""Data to try things on."""

from gevglm.datasets.simulated import simulate_study

__all__ = ["simulate_study"]
