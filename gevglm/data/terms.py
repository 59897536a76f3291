"""The terms of a design: which columns each has, in the order of the formula, and which term is part of which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gevglm.data.design import Design
from gevglm.data.formula_engines import read, terms_of


@dataclass(frozen=True)
class Term:
    """A term of a formula: a variable, a spline, a factor, or an interaction of such; a column where there is no formula."""

    name: str
    factors: frozenset[str]  # what it multiplies, as the formula writes it
    columns: tuple[int, ...]  # that were not left out of the fit

    def is_part_of(self, other: Term) -> bool:
        """Whether another term is an interaction of this one with something."""
        return self.factors < other.factors


def design_terms(design: Design) -> list[Term]:
    """Return the terms of a design but the constant: by the number of their factors, then as the formula has them, as in R."""
    if design.recipe is None:
        kept = (j for j in range(len(design.names)) if j not in (design.constant, *design.omitted))
        return [Term(design.names[j], frozenset([design.names[j]]), (j,)) for j in kept]
    design.recipe.check_saved()
    found = {}
    for term, places in design.recipe.spec.term_slices.items():
        factors = tuple(_text(factor) for factor in term.factors)
        if factors and factors != ("1",):
            columns = tuple(j for j in range(places.start, places.stop) if j not in design.omitted)
            found[frozenset(factors)] = Term(":".join(factors), frozenset(factors), columns)
    written = [frozenset(term) for term in terms_of(read(design.recipe.formula)) if term]
    return [found[factors] for factors in sorted(written, key=len)]


def _text(factor: Any) -> str:
    return factor.expr if hasattr(factor, "expr") else factor.name()
