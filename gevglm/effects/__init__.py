"""Risks, contrasts, curves and margins."""
