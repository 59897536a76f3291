"""How rows came into the data: samples drawn by the outcome, and what they say of the population."""

from gevglm.sampling.draw import Subsample, case_control, undersample

__all__ = ["Subsample", "case_control", "undersample"]
