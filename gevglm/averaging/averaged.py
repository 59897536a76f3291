"""AveragedLinks: an average over links, its weights and what is predicted with it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.iolib.summary import Summary

from gevglm import calibration
from gevglm.averaging.prediction import AveragedPrediction
from gevglm.averaging.procedure import Average, Procedure
from gevglm.averaging.resampling import Mixture, resampled
from gevglm.averaging.summary import are_light, summary_of
from gevglm.calibration.assessment import Assessment
from gevglm.data.sources import as_source
from gevglm.display.brief import Summarised
from gevglm.effects.curves import EffectCurve, effect_curve
from gevglm.effects.linear import Uncertainty
from gevglm.effects.rows import Rows
from gevglm.effects.standardised import (
    Risk,
    RiskContrast,
    averages,
    bootstrap_limits,
    contrast_of,
    contrast_table,
    risk_table,
)
from gevglm.effects.worlds import Worlds
from gevglm.exceptions import InvalidDataError, InvalidOptionError, silenced
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults
from gevglm.results.calibration import as_sampled, with_note
from gevglm.results.clusters import repeated
from gevglm.results.core import check_alpha
from gevglm.results.effects import labels_of
from gevglm.results.predicted_rows import single_outcomes
from gevglm.results.prediction import rows_to_predict
from gevglm.results.saving import to_save, write
from gevglm.results.validation import assess_new_rows

RESAMPLES = 200
HELD_OUT = (
    "Risks of held-out rows, by fits that have not seen them; the weights of the links were chosen on the same rows."
)


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
    alike : list of tuple of str
        Candidates whose held-out risks differ by less than 1 % of their mean, so that they can share their weight in any way.
    criterion : str
    nobs, n_events : float
    n_folds : int
    passes : float
        How often an observation is held out, on average.
    n_clusters : int or None
        How many clusters folds and resamples keep together.
    code : dict of str to str
        The words of the call, as Python.
    """

    def _in_a_line(self) -> str:
        weight = self.weights["weight"]
        links = f"{len(weight)} links, {weight.idxmax()} with a weight of {weight.max():.3f}"
        return f"{links}, {self.n_events:,.10g} events in {self.nobs:,.10g} observations"

    def __init__(
        self,
        procedure: Procedure,
        average: Average,
        model: BinaryGLM,
        clusters: NDArray | None,
        n_folds: int,
        passes: float,
        code: Mapping[str, str],
    ):
        self.criterion, self.fits, self.weights = procedure.criterion, average.fits, average.table
        self.scores, self.certificate = average.scores, average.optimum.certificate
        self.left_out, self.ruled_out, self.alike = average.left_out, average.ruled_out, average.alike
        self.nobs, self.n_events = model.wnobs, model.design.n_events
        self.n_folds, self.passes = n_folds, passes
        self.n_clusters = None if clusters is None else len(np.unique(clusters))
        self._procedure, self._clusters, self.code = procedure, clusters, code
        self._model: BinaryGLM | None = model
        self._mixture, self._held_out = Mixture.of(average), average.held_out
        self._drawn: dict[tuple[int, Any], list[Mixture]] = {}

    @property
    def results(self) -> BinaryGLMResults:
        """The first candidate's results, which know how rows of new data are read."""
        return next(iter(self.fits.values()))

    @property
    def options(self) -> FitOptions:
        """The options of all fits."""
        return self._procedure.options

    # -- predictions -----------------------------------------------------------------------

    def predict(self, exog: Any = None) -> NDArray | pd.Series:
        """Return the average risks in the population; missing in incomplete rows.

        Parameters
        ----------
        exog : table or array_like, optional
            New data as :meth:`gevglm.BinaryGLMResults.predict` takes them, also in pieces, which are then read once for each candidate; by
            default the rows of the fit.
        """
        if exog is not None and self.results.model.design.recipe is not None and as_source(exog) is not None:
            with silenced():
                each = [
                    weight * fit.predict(exog)
                    for weight, fit in zip(self._mixture.weights, self.fits.values(), strict=True)
                ]
            return sum(each[1:], each[0]).clip(upper=1.0)
        X, offset, index = self._rows(exog)
        risks = self._mixture.risks(X, offset)
        return risks if index is None else pd.Series(risks, index=index)

    def _rows(self, exog: Any) -> tuple[Any, NDArray | None, pd.Index | None]:
        if exog is None:
            design = self.rows("predictions of its own rows").design
            return design.X, design.offset, None
        with silenced():  # of rows outside the support of one of the links
            X, offset, _, index = rows_to_predict(self.results, exog, True, None, None)
        return X, offset, index

    def rows(self, what: str) -> BinaryGLM:
        """Return the model that holds the rows of the fit, or say that `what` needs them."""
        if self._model is None:
            raise InvalidDataError(
                f"{what} need the rows, which were not saved; fit again, or save(remove_data=False)."
            )
        return self._model

    def bootstrap(self, resamples: int | None = None, rng: Any = 0, progress: bool | None = False) -> list[Mixture]:
        """Return the averages of resamples of the observations, or of the clusters, by the whole procedure: folds, penalties, weights, fits.

        What was drawn with the same number and seed is kept, and saved.

        Parameters
        ----------
        resamples : int, optional
            By default those that were drawn before, or else 200.
        rng : int or Generator
        progress : bool, optional
            Show a bar, if tqdm is installed; None shows it in terminals and notebooks after two seconds.
        """
        if resamples is None:
            if self._drawn:
                return max(self._drawn.values(), key=len)
            resamples = RESAMPLES
        key = (resamples, rng if isinstance(rng, (int, np.integer)) else None)
        if key[1] is None or key not in self._drawn:
            model = self.rows("resamples")
            folds = max(2, round(self.n_folds / self.passes))  # of the same size
            drawn = resampled(model, self._procedure, folds, self._clusters, resamples, rng, progress)
            if key[1] is None:
                return drawn
            self._drawn[key] = drawn
        return self._drawn[key]

    def get_prediction(
        self, exog: Any = None, *, alpha: float = 0.05, resamples: int | None = None, rng: Any = 0
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

        Notes
        -----
        Limits are for the sampling error of the procedure: where no link follows the true risks, they do not hold them; see
        :class:`~gevglm.averaging.prediction.AveragedPrediction` for how often they do in a simulation.
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
        resamples: int | None = None,
        rng: Any = 0,
    ) -> RiskContrast:
        """Risks with a variable set to some values and everything else unchanged, and what the change makes.

        Parameters
        ----------
        variable, at, contrast, by, data, alpha
            See :meth:`gevglm.BinaryGLMResults.risk`.
        resamples, rng
            See :meth:`bootstrap`, whose percentiles are the limits of contrasts; those of risks are symmetric for their log odds. The rows
            averaged over are fixed.
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
        known = Uncertainty(np.atleast_2d(np.cov(drawn, rowvar=False)))
        table, tests = contrast_table(rule, found, known, pairs, index, alpha)
        table[["se", "ci_lower", "ci_upper"]] = bootstrap_limits(rule, drawn, pairs, alpha).T
        note = f"averaged over {rows.observations:,.0f} observations; bootstrap of the whole procedure, {len(drawn)} resamples"
        note = "; ".join(filter(None, (chosen[0].remark, note, self.results.model.sampling.remark())))
        risk_of = risk_table(found, known, names, alpha)
        return RiskContrast(variable, contrast, risk_of, table, tests * np.nan, known, note, tuple(chosen))

    def effect_curve(
        self, variable: str, values: Any = None, *, alpha: float = 0.05, resamples: int | None = None, rng: Any = 0
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

    def calibration(
        self, data: Any = None, *, endog: Any = None, groups: Any = None, rng: Any = 0, **options: Any
    ) -> Assessment:
        """Assess the risks: those of new data, or of the held-out rows, by fits that have not seen them but with weights that have.

        Parameters
        ----------
        data : table or array_like, optional
        endog : array_like, optional
            The outcomes of `data`, where it is a matrix or does not hold them under the name they had.
        groups : str or array_like, optional
            Clusters of `data`, a column or an array; those of the held-out rows are those of the average.
        rng, **options
            Of :func:`gevglm.calibration.assess`.
        """
        if data is not None:
            return assess_new_rows(
                self.results, data, endog, np.asarray(self.predict(data)), groups, rng=rng, **options
            )
        model, held = self.rows("held-out outcomes"), self._held_out
        own = None if self._clusters is None else self._clusters[held.rows]
        y, p, weights = single_outcomes(held.y, as_sampled(model.sampling, held.risks), held.effective)
        assessed = calibration.assess(y, p, weights, groups=repeated(own, len(y)), rng=rng, **options)
        return with_note(model.sampling, assessed, [HELD_OUT])

    def plot_calibration(self, data: Any = None, ax: Any = None, scale: str | None = None, **options: Any):
        """Draw the reliability diagram of :meth:`calibration`, whose options it takes."""
        return self.calibration(data, **options).plot(ax=ax, scale=scale)

    def plot_weights(self, ax: Any = None):
        """Draw the weights of the candidates, those that are hardly any together; see :func:`gevglm.plots.plot_weights`."""
        from gevglm.plots import plot_weights

        weight = self.weights["weight"].sort_values(ascending=False, kind="stable")
        light = are_light(self)[weight.index]
        if light.sum() == 1:
            light[:] = False
        shown = weight[~light]
        if light.any():
            shown[f"{light.sum()} others"] = weight[light].sum()
        return plot_weights(shown, ax=ax)

    def summary(self) -> Summary:
        """Summarise the weights and the held-out scores, with what is to be known of them."""
        return summary_of(self)

    def calculator(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse a calculator, and say why there is none."""
        raise InvalidOptionError(
            "limits of an average over links are by resamples, which a page does not hold; write the calculator of one link, that of a fit by gevglm.fit."
        )

    def report(
        self,
        path: Any,
        *,
        title: str | None = None,
        author: str = "",
        alpha: float = 0.05,
        resamples: int | None = None,
        rng: Any = 0,
    ) -> Path:
        """Write a report: one HTML file with the weights, the effects on the risk, and how held-out outcomes were predicted.

        Parameters
        ----------
        path : path
        title, author : str, optional
        alpha : float
            One minus the coverage of the intervals.
        resamples, rng
            See :meth:`bootstrap`.
        """
        from gevglm.averaging.report import write_report

        return write_report(self, path, title=title, author=author, alpha=alpha, resamples=resamples, rng=rng)

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the average, by default without the data, which the object at hand keeps; :func:`gevglm.load` reads the file.

        Resamples that were drawn are kept, so that predictions of new data have limits without the rows.
        """
        write(self.without_rows() if remove_data else self._with_fits(False), fname)

    def without_rows(self) -> AveragedLinks:
        """Return a copy without anything of the length of the data; it predicts, with limits if resamples were drawn."""
        kept = self._with_fits(True)
        kept._model = kept._clusters = kept._held_out = None  # type: ignore[assignment]
        return kept

    def _with_fits(self, remove_data: bool) -> AveragedLinks:
        saved = copy(self)
        saved.fits = {name: to_save(fit, remove_data) for name, fit in self.fits.items()}
        return saved
