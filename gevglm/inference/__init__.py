"""Profiles, tests, separation, shapes and penalties: what is asked after or around a fit."""
