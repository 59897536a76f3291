"""The report of a fit: one HTML file that needs nothing else."""

from gevglm import modules_of
from gevglm.report.write import write_report

__all__ = ["write_report"]

__getattr__ = modules_of(__name__)
