"""What is written in formulas elsewhere and not known here: what to write instead."""

from __future__ import annotations

_SMOOTH = (
    "penalised smooths are not fitted; ns(x, df=4), rcs(x, 4), bs(x, df=5) and cr(x, df=4, constraints='center') are splines "
    "with fixed knots"
)
_RANDOM = (
    "random effects are not fitted; cov_type='cluster', cov_kwds={'groups': ...} gives standard errors for rows that belong "
    "together"
)
_SURVIVAL = "models of survival times are not fitted; of times in intervals they are link='cloglog' with a row for each interval at risk"
_STRATA = (
    "conditional likelihoods are not fitted; C(stratum) with bias='firth' has a coefficient for each stratum, and statsmodels has "
    "ConditionalLogit"
)
_STEPS = "fit one formula after the other and compare them with gevglm.compare"
_TABLE = "compute the column in the table first"

# functions of R's packages and of others
FUNCTIONS = {
    **dict.fromkeys(("s", "ti", "t2", "lo", "gp", "smooth"), _SMOOTH),
    **dict.fromkeys(("re", "ranef", "mo", "frailty"), _RANDOM),
    **dict.fromkeys(("Surv", "tt", "pspline", "ridge"), _SURVIVAL),
    **dict.fromkeys(("strata", "strat"), _STRATA),
    **dict.fromkeys(("sw", "sw0", "csw", "csw0", "mvsw"), _STEPS),
    "cluster": "clusters are an option, cov_type='cluster', cov_kwds={'groups': 'id'}",
    "i": "a factor is C(x), its interaction with a number C(x):z, its reference C(x, Treatment('a'))",
    "exposure": "the logarithm of an exposure is an offset, offset(log(time)); with link='cloglog' there is exposure='time'",
    "weights": "weights are options, freq_weights=, sampling_weights= and var_weights=",
    "pol": "polynomials are poly(x, 2, raw=True), orthogonal ones poly(x, 2)",
    "lsp": "a broken line is x + I(np.maximum(x - 50, 0))",
    "catg": "a factor is C(x)",
    "scored": "a factor with polynomial contrasts is C(x, Poly)",
    "ordered": "a factor with polynomial contrasts is C(x, Poly)",
    "as.ordered": "a factor with polynomial contrasts is C(x, Poly)",
    "interaction": "it is C(a):C(b)",
    "ifelse": "it is np.where(x > 1, a, b)",
    "pmin": "it is np.minimum(x, 1)",
    "pmax": "it is np.maximum(x, 0)",
    "is.na": "it is x.isna()",
    "as.numeric": "it is x.astype(float), and I(1 * (x > 0)) for a condition",
    "as.integer": "it is x.astype(int), and I(1 * (x > 0)) for a condition",
    "as.character": "it is x.astype(str)",
    "as.logical": "it is x.astype(bool)",
    "as.Date": "it is pd.to_datetime(x)",
    "mfp": "fractional polynomials are not searched for; log(x), I(x**-2) and the like are terms",
    "fp": "fractional polynomials are not searched for; log(x), I(x**-2) and the like are terms",
    "mkspline": "a broken line is x + I(np.maximum(x - 50, 0)), a restricted cubic spline rcs(x, 4)",
    "cbs": "cyclic splines are cc(x, df=4)",
    "bSpline": "it is bs(x, df=5)",
    "naturalSpline": "it is ns(x, df=4)",
    "nsp": "it is ns(x, df=4)",
    "nchar": "it is x.str.len()",
    "grepl": "it is x.str.contains('a')",
    "substr": "it is x.str[:2]",
    "paste": "columns of text are joined by a + '_' + b inside C()",
    "quantile": _TABLE,
    "rowSums": "it is I(a + b)",
    "rowMeans": "it is I((a + b) / 2)",
}

# functions with another name of ours
RENAMED = {"as.factor": "factor"}

# operators and signs
SPECIAL = {
    "%in%": "a condition is I(g.isin(['a', 'b'])), and a within b is a:b",
    "%%": "the remainder of a division is I(x % 2)",
    "%/%": "division without its remainder is I(x // 2)",
    "%ia%": "the interaction is x:z",
    "&&": "conditions are joined by &, as in I((x > 1) & (z < 2))",
    "||": "conditions are joined by |, as in I((x > 1) | (z < 2))",
    "!": "a condition is turned round by ~, as in I(~(x > 1))",
    "$": "columns go by their names alone, x in place of d$x",
    "#": "an interaction is a:b",
    "##": "two terms and their interaction are a*b",
    "::": "functions go by their names alone, ns(x, 3) in place of splines::ns(x, 3)",
    ":::": "functions go by their names alone, ns(x, 3) in place of splines::ns(x, 3)",
    "?": "names have letters, digits and underscores; others go into backticks, `a name`",
}

# prefixes of Stata's variables
STATA = {
    "i": "a factor is C({0}), with another reference C({0}, Treatment(2))",
    "c": "a number goes by its name, {0}",
    "o": "leave {0} out",
    **dict.fromkeys(
        "LFDS", "lags, leads and differences of {0} within units are columns to compute in the table first"
    ),
}
