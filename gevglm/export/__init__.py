"""The scoring formula of a model, written out for other languages: SQL, spreadsheets, JavaScript, JSON, and a page with a calculator."""

from gevglm.export.scoring import ScoringFormula, scoring_formula

__all__ = ["ScoringFormula", "scoring_formula"]
