"""Calibrators: maps from scores to probabilities, fitted to outcomes."""
