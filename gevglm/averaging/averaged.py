"""AveragedLinks: an average over links, its weights and what is predicted with it."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from gevglm import calibration
from gevglm.averaging.procedure import Average, Procedure
from gevglm.averaging.resampling import Mixture, resampled
from gevglm.calibration.assessment import Assessment
from gevglm.data.row_weights import RowWeights
from gevglm.display.brief import Summarised
from gevglm.effects.curves import EffectCurve, effect_curve
from gevglm.effects.rows import Rows
from gevglm.effects.standardised import Risk, RiskContrast, averages, bootstrap_limits, contrast_of, contrast_table
from gevglm.effects.worlds import Worlds
from gevglm.exceptions import InvalidDataError, InvalidOptionError, silenced
from gevglm.model import BinaryGLM
from gevglm.results import BinaryGLMResults
from gevglm.results.clusters import repeated
from gevglm.results.core import check_alpha
from gevglm.results.effects import labels_of
from gevglm.results.predicted_rows import complete_rows, single_outcomes
from gevglm.results.prediction import rows_to_predict
from gevglm.results.saving import to_save, write

NEAR = 0.01  # mean absolute difference of risks, as a share of their mean, below which two candidates are the same in effect
RESAMPLES = 200


class AveragedLinks(Summarised):
    """Risks that are averages over links; made by :func:`gevglm.average_links`.

    Attributes
    ----------
    weights : DataFrame
        One row per candidate: ``link``, ``xi``, ``loss``, ``alpha``, ``weight``, and ``log_loss`` and ``brier``, its scores on held-out rows.
    fits : dict of str to BinaryGLMResults
        The candidates, fitted to all rows.
    scores : Series
        Held-out ``log_loss`` and ``brier`` of the average; the weights were chosen on the same rows.
    certificate : float
        Karush-Kuhn-Tucker residual of the weights before they were moved towards equal ones: no weights have a criterion smaller by more.
    left_out : dict of str to str
        Candidates that could not be fitted, and why.
    ruled_out : int
        Held-out outcomes that all candidates ruled out; they have no part in the weights.
    criterion : str
    """

    def _in_a_line(self) -> str:
        used = (self.weights["weight"] > 0.0).sum()
        return f"{used} of {len(self.weights)} links, {self.n_events:,.10g} events in {self.nobs:,.10g} observations"

    def __init__(
        self, procedure: Procedure, average: Average, model: BinaryGLM, clusters: NDArray | None, n_folds: int
    ):
        self.criterion, self.fits, self.weights = procedure.criterion, average.fits, average.table
        self.certificate, self.left_out, self.ruled_out = (
            average.optimum.certificate,
            average.left_out,
            average.ruled_out,
        )
        self._procedure, self._clusters, self._n_folds = procedure, clusters, n_folds
        self._model: BinaryGLM | None = model
        self._mixture, self._held_out = Mixture.of(average), average.held_out
        self._drawn: dict[tuple[int, Any], list[Mixture]] = {}
        self.nobs, self.n_events = model.wnobs, model.design.n_events

    @property
    def results(self) -> BinaryGLMResults:
        """The first candidate's results, which know how rows of new data are read."""
        return next(iter(self.fits.values()))

    @property
    def scores(self) -> pd.Series:
        """Held-out scores of the average."""
        held = self._held_out
        p = np.clip(held.risks, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        log_loss = -(held.y * np.log(p) + (1.0 - held.y) * np.log1p(-p))
        brier = held.y * (1.0 - held.risks) ** 2 + (1.0 - held.y) * held.risks**2
        return pd.Series(
            {name: np.average(v, weights=held.counts) for name, v in (("log_loss", log_loss), ("brier", brier))}
        )

    # -- predictions -----------------------------------------------------------------------

    def predict(self, exog: Any = None) -> NDArray | pd.Series:
        """Return the average risks in the population, of new data or of the rows of the fit; missing in incomplete rows."""
        X, offset, index = self._rows(exog)
        risks = self._mixture.risks(X, offset)
        return risks if index is None else pd.Series(risks, index=index)

    def _rows(self, exog: Any) -> tuple[Any, NDArray | None, pd.Index | None]:
        with silenced():
            X, offset, _, index = rows_to_predict(self.results, exog, True, None, None)
        if X is None:
            design = self._need_model("predictions of its own rows").design
            return design.X, design.offset, None
        return X, offset, index

    def _need_model(self, what: str) -> BinaryGLM:
        if self._model is None:
            raise InvalidDataError(
                f"{what} need the rows, which were not saved; fit again, or save(remove_data=False)."
            )
        return self._model

    def bootstrap(self, resamples: int = RESAMPLES, rng: Any = 0) -> list[Mixture]:
        """Return the averages of resamples of the observations, or of the clusters, by the whole procedure: folds, penalties, weights, fits.

        What was drawn with the same number and seed is kept.
        """
        key = (resamples, rng if isinstance(rng, (int, np.integer)) else None)
        if key[1] is None or key not in self._drawn:
            model = self._need_model("resamples")
            drawn = resampled(model, self._procedure, self._n_folds, self._clusters, resamples, rng)
            if key[1] is None:
                return drawn
            self._drawn[key] = drawn
        return self._drawn[key]

    def get_prediction(
        self, exog: Any = None, *, alpha: float = 0.05, resamples: int = RESAMPLES, rng: Any = 0
    ) -> AveragedPrediction:
        """Return risks with limits by the bootstrap of the whole procedure.

        Parameters
        ----------
        exog : table or array_like, optional
            New data; by default the rows of the fit.
        alpha : float
            One minus the coverage.
        resamples, rng
            See :meth:`bootstrap`.
        """
        check_alpha(alpha)
        X, offset, index = self._rows(exog)
        drawn = np.stack([each.risks(X, offset) for each in self.bootstrap(resamples, rng)])
        return AveragedPrediction(self._mixture.risks(X, offset), drawn, index, alpha)

    # -- effects ---------------------------------------------------------------------------

    def risk(
        self,
        variable: str,
        at: Any = None,
        *,
        contrast: str = "difference",
        by: Any = None,
        data: Any = None,
        alpha: float = 0.05,
        resamples: int = RESAMPLES,
        rng: Any = 0,
    ) -> RiskContrast:
        """Risks with a variable set to some values and everything else unchanged, and what the change makes.

        Parameters
        ----------
        variable, at, contrast, by, data, alpha
            See :meth:`gevglm.BinaryGLMResults.risk`.
        resamples, rng
            See :meth:`bootstrap`, by whose percentiles limits are made; the rows averaged over are fixed.
        """
        check_alpha(alpha)
        rule, rows = contrast_of(contrast), Rows.of(self.results, data)
        chosen = rows.scenarios(variable, at)
        within = rows.groups(by)
        worlds = Worlds.of(rows, [{variable: scenario} for scenario in chosen]).held()

        def risks(mixture: Mixture) -> NDArray:
            pairs = zip(mixture.links, mixture.params, strict=True)
            each = [averages(worlds, Risk(link, params), within).risks for link, params in pairs]
            return mixture.weights @ np.stack(each)

        found, drawn = risks(self._mixture), np.stack([risks(each) for each in self.bootstrap(resamples, rng)])
        names, pairs, index = labels_of(variable, chosen, within.labels, rule)
        cov = np.atleast_2d(np.cov(drawn, rowvar=False))
        table, pvalues = contrast_table(rule, found, cov, pairs, index, alpha)
        table[["se", "ci_lower", "ci_upper"]] = bootstrap_limits(rule, drawn, pairs, alpha).T
        shares = [alpha / 2.0, 1.0 - alpha / 2.0]
        lower, upper = np.quantile(drawn, shares, axis=0, method="median_unbiased")
        columns = {"estimate": found, "se": drawn.std(axis=0, ddof=1), "ci_lower": lower, "ci_upper": upper}
        note = f"averaged over {rows.observations:,.0f} observations; bootstrap of the whole procedure, {len(drawn)} resamples"
        note = "; ".join(filter(None, (chosen[0].remark, note)))
        risk_table = pd.DataFrame(columns, index=names)
        return RiskContrast(variable, contrast, risk_table, table, pvalues * np.nan, cov, note, tuple(chosen))

    def effect_curve(
        self, variable: str, values: Any = None, *, alpha: float = 0.05, resamples: int = RESAMPLES, rng: Any = 0
    ) -> EffectCurve:
        """Return the risk along a variable, averaged over the rows, with limits as :meth:`risk` has them.

        Parameters
        ----------
        variable : str
        values : array_like, optional
            By default its levels, or 21 points between its 1 and 99 % quantiles.
        alpha, resamples, rng
            See :meth:`risk`.
        """
        with silenced():
            shape = effect_curve(self.results, variable, values=values, points=21)
        grid = list(shape.frame["value"])
        if len(grid) < 2:
            raise InvalidOptionError("an effect curve needs at least two values.")
        found = self.risk(variable, grid, alpha=alpha, resamples=resamples, rng=rng).risks
        limits = {"risk": "estimate", "ci_lower": "ci_lower", "ci_upper": "ci_upper"}
        return replace(shape, frame=shape.frame.assign(**{name: found[of].to_numpy() for name, of in limits.items()}))

    def plot_effect(self, variable: str, values: Any = None, *, ax: Any = None, **options: Any):
        """Draw :meth:`effect_curve`, whose options it takes."""
        from gevglm.plots import plot_effect

        return plot_effect(self.effect_curve(variable, values, **options), ax=ax)

    # -- calibration and weights -----------------------------------------------------------

    def calibration(self, data: Any = None, *, endog: Any = None, **options: Any) -> Assessment:
        """Assess the risks: those of new data, or of the held-out rows, by fits that have not seen them but with weights that have.

        Parameters
        ----------
        data : table or array_like, optional
        endog : array_like, optional
            The outcomes of `data`, where it does not hold them under the name they had.
        **options
            Of :func:`gevglm.calibration.assess`.
        """
        if data is not None:
            y, p, weights = complete_rows(self.results.model.design, data, endog, self.predict(data))
            return calibration.assess(y, p, weights, **options)
        model, held = self._need_model("held-out outcomes"), self._held_out
        clusters = None if self._clusters is None else self._clusters[held.rows]
        design = model.design
        counted = RowWeights(len(held.y), freq=held.counts) if design.represents is None else None
        effective = (
            held.counts if counted is not None else held.counts * held.counts.sum() / (held.counts @ held.counts)
        )
        y, p, weights = single_outcomes(held.y, held.risks, effective)
        assessed = calibration.assess(y, p, weights, groups=repeated(clusters, len(y)), **options)
        note = "Risks of held-out rows, by fits that have not seen them; the weights of the links were chosen on the same rows."
        return replace(assessed, notes=(*assessed.notes, note))

    def plot_weights(self, ax: Any = None):
        """Draw the weights of the candidates; see :func:`gevglm.plots.plot_weights`."""
        from gevglm.plots import plot_weights

        return plot_weights(self.weights["weight"], ax=ax)

    def summary(self) -> Summary:
        """Summarise the weights and the held-out scores."""
        summary = Summary()
        scores = self.scores
        facts = [
            ["Observations:", f"{self.nobs:,.0f}", "Held-out log loss:", f"{scores['log_loss']:.5f}"],
            ["Events:", f"{self.n_events:,.0f}", "Held-out Brier score:", f"{scores['brier']:.5f}"],
            ["Criterion:", self.criterion, "Certificate of the weights:", f"{self.certificate:.1e}"],
        ]
        summary.tables.append(SimpleTable(facts, title="Average over links"))
        table = self.weights.sort_values("weight", ascending=False)
        cells = [
            [row["loss"], f"{row['alpha']:g}", f"{row['weight']:.4f}", f"{row['log_loss']:.5f}", f"{row['brier']:.5f}"]
            for _, row in table.iterrows()
        ]
        headers = ["loss", "alpha", "weight", "held-out log loss", "held-out Brier"]
        summary.tables.append(SimpleTable(cells, headers=headers, stubs=list(table.index)))
        summary.add_extra_txt(self._notes())
        return summary

    def _notes(self) -> list[str]:
        notes = [
            "Weights are not probabilities that a link is true: candidates whose risks are nearly the same can share their weight in any way."
        ]
        near = self._near_pairs()
        if near:
            notes.append(f"Nearly the same here (risks differ by less than 1 % of their mean): {'; '.join(near)}.")
        notes += [f"Left out: {name}: {why}" for name, why in self.left_out.items()]
        if self.ruled_out:
            notes.append(
                f"{self.ruled_out} held-out outcomes were ruled out by every candidate; they have no part in the weights."
            )
        return notes

    def _near_pairs(self) -> list[str]:
        """Return pairs of candidates with weight whose risks of the rows hardly differ."""
        if self._model is None:
            return []
        design, mixture = self._model.design, self._mixture
        names, heavy = list(self.weights.index), np.flatnonzero(self.weights["weight"] > 0.5 / len(self.weights))
        one = {
            j: Mixture((mixture.links[j],), mixture.params[[j]], np.ones(1)).risks(design.X, design.offset)
            for j in heavy
        }
        mean = float(self._mixture.risks(design.X, design.offset).mean())
        pairs = [(i, j) for i in heavy for j in heavy if i < j]
        return [f"{names[i]} and {names[j]}" for i, j in pairs if np.abs(one[i] - one[j]).mean() < NEAR * mean]

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the average, by default without the data, which the object at hand keeps; :func:`gevglm.load` reads the file.

        Resamples that were drawn are kept, so that predictions of new data have limits without the rows.
        """
        saved = copy(self)
        saved.fits = {name: to_save(fit, remove_data) for name, fit in self.fits.items()}
        if remove_data:
            saved._model = saved._clusters = saved._held_out = None  # type: ignore[assignment]
        write(saved, fname)


class AveragedPrediction:
    """Risks with limits by the bootstrap.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
    draws : ndarray of shape (resamples, n)
    """

    def __init__(self, predicted: NDArray, draws: NDArray, index: pd.Index | None, alpha: float):
        self.predicted, self.draws, self.index, self.alpha = predicted, draws, index, alpha

    def summary_frame(self, alpha: float | None = None) -> pd.DataFrame:
        r"""Return columns ``mean``, ``mean_se``, ``mean_ci_lower`` and ``mean_ci_upper``.

        The limits are those of a normal distribution on the logit scale, with the standard deviation s of the logits of the draws:
        :math:`\mathrm{expit}(\mathrm{logit}\, p \pm z s)`. Draws are kept 1e-10 away from 0 and 1 there.
        """
        alpha = self.alpha if alpha is None else alpha
        check_alpha(alpha)
        clipped = logit(np.clip(self.draws, 1e-10, 1.0 - 1e-10))
        middle = logit(np.clip(self.predicted, 1e-10, 1.0 - 1e-10))
        reach = norm.isf(alpha / 2.0) * clipped.std(axis=0, ddof=1)
        columns = {
            "mean": self.predicted,
            "mean_se": self.draws.std(axis=0, ddof=1),
            "mean_ci_lower": expit(middle - reach),
            "mean_ci_upper": expit(middle + reach),
        }
        return pd.DataFrame(columns, index=self.index)
