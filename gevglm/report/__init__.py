"""The report of a fit: one HTML file that needs nothing else."""

from gevglm.report.write import write_report

__all__ = ["write_report"]
