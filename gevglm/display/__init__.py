"""How numbers and tables are shown: one rule for digits, and one form as text and as HTML."""

from gevglm import modules_of

__getattr__ = modules_of(__name__)
