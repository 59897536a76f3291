"""statsmodels' own checks, run with BinaryGLM in place of GLM."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.base.tests.test_generic_methods as generic
import statsmodels.base.tests.test_predict as predictions
import statsmodels.base.tests.test_shrink_pickle as pickles
import statsmodels.genmod.tests.test_glm as glms
from numpy.testing import assert_allclose, assert_almost_equal
from statsmodels.discrete.discrete_model import Logit
from statsmodels.genmod.tests.results.results_glm import Lbw, Star98
from statsmodels.stats.tests.test_anova import kidney_table

from gevglm import BinaryGLM, families, links
from gevglm.exceptions import FewEventsWarning, InvalidDataError, NotDefinedForLoss
from tests.support.study import reads_formulaic

LOGIT = {"link": "logit"}
CLOGLOG = {"link": "cloglog"}
GEV_LOG = {"link": "gev", "xi": 0.2, "loss": "log"}
GEV_CANONICAL = {"link": "gev", "xi": 0.2, "loss": "canonical"}


def outcome(X, seed=1):
    """Events at a rate of about one in eight, by a GEV link of X with a constant and three columns."""
    risk = links.GEV(0.2).inverse(X @ [-0.8, 0.3, -0.2, 0.2])
    return (np.random.default_rng(seed).random(len(X)) < risk).astype(float)


# -- t_test, wald_test, predict, constrained fits ------------------------------------------------------------------


class Generic(generic.CheckGenericMixin):
    options = {}
    extra = {}

    def setup_method(self):
        if hasattr(super(), "setup_method"):  # before statsmodels 0.15 the mixin has only a setup_class
            super().setup_method()
        self.results = BinaryGLM(outcome(self.exog), self.exog, **self.options, **self.extra).fit()


class TestGenericLogit(Generic):
    options = LOGIT


class TestGenericCLogLog(Generic):
    options = CLOGLOG


class TestGenericGEVLog(Generic):
    options = GEV_LOG


class TestGenericGEVCanonical(Generic):
    options = GEV_CANONICAL


class TestGenericOffsetAndWeights(Generic):
    options = GEV_CANONICAL
    extra = {"offset": np.full(500, 0.01), "freq_weights": np.arange(500) % 3 + 1.0}

    def setup_method(self):
        super().setup_method()
        self.predict_kwds = self.predict_kwds_5 = {"exposure": 1.0, "offset": 0.0}

    def test_predict_types(self):
        """A model with an offset wants one for new rows too, where GLM silently takes zero."""
        with pytest.raises(InvalidDataError, match="offset"):
            self.results.predict(self.exog[:2])
        self.results.predict(self.exog[:2].tolist(), **self.predict_kwds)
        self.results.predict(self.exog[0].tolist(), **self.predict_kwds)


# -- terms of a formula --------------------------------------------------------------------------------------------


class Anova(generic.CheckAnovaMixin):
    options = {}

    @classmethod
    def initialize(cls):
        data = kidney_table.drop([0, 1, 2])
        data["long"] = (data["Days"] > 4).astype(int)
        with pytest.warns(FewEventsWarning):
            cls.res = BinaryGLM.from_formula("long ~ C(Duration, Sum)*C(Weight, Sum)", data, **cls.options).fit()


@reads_formulaic
class TestAnovaLogit(Anova):
    options = LOGIT


@reads_formulaic
class TestAnovaCLogLog(Anova):
    options = CLOGLOG


@reads_formulaic
class TestAnovaGEVLog(Anova):
    options = GEV_LOG


@reads_formulaic
class TestAnovaGEVCanonical(Anova):
    options = GEV_CANONICAL


class TestAnovaPatsy(Anova):
    options = LOGIT | {"formula_engine": "patsy"}


class Pairwise(generic.CheckPairwise):
    options = {}
    formula = "long ~ C(Weight) + C(Duration)"
    term_name = "C(Weight)"
    constraints = ["C(Weight)[T.2]", "C(Weight)[T.3]", "C(Weight)[T.3] - C(Weight)[T.2]"]

    def setup_method(self):
        data = kidney_table.assign(long=(kidney_table["Days"] > 4).astype(int))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewEventsWarning)
            self.res = BinaryGLM.from_formula(self.formula, data, **self.options).fit()


@reads_formulaic
class TestPairwiseLogit(Pairwise):
    options = LOGIT


@reads_formulaic
class TestPairwiseGEVCanonical(Pairwise):
    options = GEV_CANONICAL


@reads_formulaic
class TestPairwiseWithoutConstant(Pairwise):
    options = CLOGLOG
    formula = "long ~ C(Weight) + C(Duration) - 1"
    constraints = [
        "C(Weight)[2] - C(Weight)[1]",
        "C(Weight)[3] - C(Weight)[1]",
        "C(Weight)[3] - C(Weight)[2]",
    ]


# -- prediction for frames, series and single rows -----------------------------------------------------------------


class TestPredictReturns(predictions.CheckPredictReturns):
    options = LOGIT

    @classmethod
    def setup_class(cls):
        x = np.random.default_rng(2).normal(size=(300, 3)).round(4)
        y = outcome(sm.add_constant(x))
        index = [f"obs{i:03d}" for i in range(300)]
        cls.data = pd.DataFrame(np.column_stack([y, x]), columns=["y", "var1", "var2", "var3"], index=index)
        cls.res = BinaryGLM.from_formula("y ~ var1 + var2", cls.data, **cls.options).fit()

    def test_2d(self):
        """A dict of columns is a table like any other, where GLM warns of it."""
        new, fitted = self.data.iloc[1:10:2], self.res.fittedvalues.iloc[1:10:2]
        pd.testing.assert_series_equal(self.res.predict(new), fitted, check_names=False)
        assert_allclose(self.res.predict(new.to_dict("list")), fitted, rtol=1e-13)

    def test_1d(self):
        """The prediction for the mean row is not the mean prediction, as the mixin has it for linear models."""
        mean, expected = self.data.mean(), self.res.predict(self.data.mean().to_frame().T).iloc[0]
        v = self.res.params @ [1.0, mean["var1"], mean["var2"]]
        assert_allclose(expected, self.res.link.inverse(np.array([v]))[0], rtol=1e-13)
        assert_allclose(self.res.predict(mean), expected, rtol=1e-13)
        assert_allclose(self.res.predict(mean.to_dict()), expected, rtol=1e-13)
        assert list(self.res.predict(self.data.iloc[:1]).index) == ["obs000"]


class TestPredictReturnsCanonical(TestPredictReturns):
    options = GEV_CANONICAL


# -- data removed, pickled, loaded ---------------------------------------------------------------------------------


class RemoveData(pickles.RemoveDataPickle):
    options = {}

    def setup_method(self):
        if hasattr(super(), "setup_method"):  # before statsmodels 0.15 the mixin has only a setup_class
            super().setup_method()
        self.model_class = BinaryGLM
        self.model_args = (outcome(self.exog), self.exog)
        self.model_kwargs = self.options
        self.results = BinaryGLM(*self.model_args, **self.options).fit()

    def test_pickle_wrapper(self):
        """The file has what the results at hand have; those saved by default have no data."""
        self.results.remove_data()
        super().test_pickle_wrapper()


class TestRemoveDataLogit(RemoveData):
    options = LOGIT


class TestRemoveDataGEVLog(RemoveData):
    options = GEV_LOG


class TestRemoveDataGEVCanonical(RemoveData):
    options = GEV_CANONICAL


# -- estimates, residuals and statistics against R, Stata and sm.GLM -----------------------------------------------


class ModelResults(glms.CheckModelResultsMixin):
    def test_bic(self):
        """Stata's is that of the deviance, which the mixin calls `bic` before statsmodels 0.15."""
        assert_almost_equal(self.res1.bic_deviance, self.res2.bic_Stata, self.decimal_bic)


class TestLbw(ModelResults, glms.CheckComparisonMixin):
    """Low birth weight, by Stata and R, and sm.Logit."""

    @classmethod
    def setup_class(cls):
        cls.res2 = Lbw()
        cls.res1 = BinaryGLM(cls.res2.endog, cls.res2.exog).fit()
        cls.resd = Logit(cls.res2.endog, cls.res2.exog).fit(start_params=cls.res1.params * 0.9, disp=False)


class TestStar98(ModelResults):
    """Counts of successes and failures in 303 counties, by R and Stata."""

    decimal_resids = glms.DECIMAL_1
    decimal_bic = glms.DECIMAL_2

    @classmethod
    def setup_class(cls):
        data = sm.datasets.star98.load()
        cls.res1 = BinaryGLM(np.asarray(data.endog), sm.add_constant(np.asarray(data.exog), prepend=False)).fit()
        cls.res2 = Star98()

    def test_residuals(self):
        """Working residuals are R's, (y - mu)/F'; GLM multiplies them by the trials, twice."""
        res, expected = self.res1, self.res2.resids
        ours = [res.resid_pearson, res.resid_deviance, res.resid_anscombe_unscaled, res.resid_response]
        assert_allclose(np.column_stack(ours), expected[:, [0, 1, 3, 4]], rtol=1e-6, atol=0.1)
        working = (res.model.endog - res.mu) * res.link.deriv(res.mu)
        assert_allclose(res.resid_working, working, rtol=1e-10)


class AgainstGLM(ModelResults):
    """Beside sm.GLM with the same link and loss, by the names the mixin looks for."""

    options = {}
    family = None
    cov_type = "nonrobust"
    decimal_params = decimal_bse = decimal_fittedvalues = 8

    @classmethod
    def setup_class(cls):
        X = sm.add_constant(np.random.default_rng(3).normal(size=(600, 3)))
        y = outcome(X)
        cls.res1 = BinaryGLM(y, X, **cls.options).fit(cov_type=cls.cov_type)
        glm = sm.GLM(y, X, family=cls.family).fit(tol=1e-13, cov_type=cls.cov_type)
        working = glm.resid_working / glm.family.link.deriv(glm.mu) ** 2
        cls.res2 = SimpleNamespace(
            params=glm.params,
            bse=glm.bse,
            resids=np.column_stack(
                [glm.resid_pearson, glm.resid_deviance, working, glm.resid_anscombe_unscaled, glm.resid_response]
            ),
            aic_R=glm.aic,
            aic_Stata=glm.aic / glm.nobs,
            bic_Stata=glm.bic_deviance,
            llf=glm.llf,
            deviance=glm.deviance,
            null_deviance=glm.null_deviance,
            scale=1.0,
            df_resid=glm.df_resid,
            fittedvalues=glm.fittedvalues,
            pearson_chi2=glm.pearson_chi2,
            prsquared=glm.pseudo_rsquared(kind="mcf"),
            prsquared_cox_snell=glm.pseudo_rsquared(kind="cs"),
        )


class TestAgainstGLMLogit(AgainstGLM):
    options = LOGIT
    family = sm.families.Binomial()


class TestAgainstGLMCLogLog(AgainstGLM):
    options = CLOGLOG
    family = sm.families.Binomial(sm.families.links.CLogLog())


class TestAgainstGLMGEVLog(AgainstGLM):
    options = GEV_LOG
    family = families.GEVBinomial(0.2)


class TestAgainstGLMGEVCanonical(AgainstGLM):
    options = GEV_CANONICAL
    family = families.GEVCanonical(0.2)
    cov_type = "HC0"

    def test_aic_R(self):
        """The canonical loss is no likelihood."""
        with pytest.raises(NotDefinedForLoss):
            _ = self.res1.aic

    test_aic_Stata = test_aic_R

    def test_bic(self):
        """As the AIC."""
        with pytest.raises(NotDefinedForLoss):
            _ = self.res1.bic_deviance

    def test_loglike(self):
        """GLM reports minus the canonical loss, we nothing."""
        with pytest.raises(NotDefinedForLoss):
            _ = self.res1.llf

    def test_residuals(self):
        """Pearson residuals have the variance of a Bernoulli outcome, not the variance function of the loss."""
        p = self.res1.fittedvalues
        assert_allclose(self.res1.resid_pearson, self.res1.resid_response / np.sqrt(p * (1 - p)), rtol=1e-12)
        self.res2.resids[:, 0] = self.res1.resid_pearson
        super().test_residuals()

    def test_pearson_chi2(self):
        """As the residuals."""
        assert_allclose(self.res1.pearson_chi2, np.sum(self.res1.resid_pearson**2))

    def test_prsquared(self):
        """By the Bernoulli likelihood of the predictions."""
        p, y = self.res1.fittedvalues, self.res1.model.endog
        llf, llnull = (np.sum(np.log(np.where(y == 1, q, 1 - q))) for q in (p, y.mean()))
        assert_allclose(self.res1.pseudo_rsquared(kind="mcf"), 1 - llf / llnull)

    def test_get_distribution(self):
        """The outcome is Bernoulli; its variance is that of `predict`, not the family's."""
        mean, variance = self.res1.get_distribution().stats()
        assert_allclose(mean, self.res1.fittedvalues, rtol=1e-13)
        assert_allclose(variance, self.res1.predict(which="var_unscaled"), rtol=1e-12)


# -- frequency weights are repeated rows ---------------------------------------------------------------------------


class Repeated(glms.CheckWtdDuplicationMixin):
    options = {}
    fit_options = {}

    @classmethod
    def setup_class(cls):
        X = sm.add_constant(np.random.default_rng(4).normal(size=(150, 3)))
        y = outcome(X)
        weight = np.random.default_rng(5).integers(5, 20, len(y))
        cls.res1 = BinaryGLM(y, X, freq_weights=weight, **cls.options).fit(**cls.fit_options)
        cls.res2 = BinaryGLM(y.repeat(weight), X.repeat(weight, axis=0), **cls.options).fit(**cls.fit_options)


class TestRepeatedLogit(Repeated):
    options = LOGIT


class TestRepeatedCLogLogHC1(Repeated):
    options = CLOGLOG
    fit_options = {"cov_type": "HC1"}


class TestRepeatedGEVLog(Repeated):
    options = GEV_LOG


class TestRepeatedGEVCanonical(Repeated):
    options = GEV_CANONICAL

    def test_loglike(self):
        """The canonical loss is no likelihood; the loss of the predictions takes its place."""
        assert_allclose(self.res1.log_loss, self.res2.log_loss, rtol=1e-10)

    test_aic = test_bic = test_loglike
