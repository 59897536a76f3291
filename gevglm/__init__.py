"""gevglm: regression for binary outcomes when one class is rare."""

from gevglm import families, links, losses

__all__ = ["families", "links", "losses"]
