"""Data to try things on: simulated studies, and public data sets."""

from gevglm.datasets.power_grid import simulate_outages
from gevglm.datasets.public import available, load
from gevglm.datasets.simulated import simulate_clicks, simulate_cubic, simulate_study

__all__ = ["available", "load", "simulate_clicks", "simulate_cubic", "simulate_outages", "simulate_study"]
