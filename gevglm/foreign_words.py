"""Words that people know from other packages, in calls and in formulas, each with what to write here instead."""

from __future__ import annotations

_ELSEWHERE = "; the page 'What gevglm does not do' of the documentation says who does"
_CLUSTER = "clusters are cov_type='cluster', cov_kwds={'groups': 'id'}; of average_links() they are groups='id'"
_COVARIANCE = "covariances are cov_type='HC1', 'HC3', 'cluster' or 'HAC', with cov_kwds="
_RIDGE = (
    "the penalty is ridge, alpha= (with standardize=True on coefficients of standardised columns); there is no lasso here"
    + _ELSEWHERE
)
_FIXED = "fixed effects, the constants of units, are absorbed by fit('y ~ x | unit', data), or absorb='unit'"
_DATA = "the data are the second argument, fit('y ~ x', data)"
_ARRAYS = "outcome and design matrix are the first two arguments, fit(y, X)"
_WEIGHTS = (
    "freq_weights= says how many observations a row stands for, sampling_weights= how many of the population (surveys), "
    "var_weights= is the weight of its loss"
)
_SEED = "random numbers are rng=, where they are drawn: search_kwds={'rng': 1} for a search, rng=1 for a bootstrap"
_RANDOM = (
    "random effects are not fitted; cov_type='cluster', cov_kwds={'groups': 'id'} gives standard errors for rows that belong together"
    + _ELSEWHERE
)
_STRATA = "matched sets are an option of fit(), strata='set', with which the logit is fitted by its conditional likelihood: fit('case ~ x', d, strata='set')"
_SMOOTH = (
    "penalised smooths are not fitted; ns(x, df=4), rcs(x, 4), bs(x, df=5) and cr(x, df=4, constraints='center') are splines with "
    "fixed knots" + _ELSEWHERE
)
_SURVIVAL = (
    "models of survival times are not fitted; of times in intervals they are link='cloglog' with a row for each interval at risk"
    + _ELSEWHERE
)
_RATIOS = "ratios and differences of risks, of any link, are res.risk('x', contrast='ratio') and contrast='difference'"
_ROBUST = "robust standard errors are cov_type='HC1', or 'robust', as Stata's regress has them; HC0, HC2 and HC3 are the others"
_STEPS = "fit one formula after the other and compare them with gevglm.compare"
_SELECTION = "variables are not selected; alpha='cv' shrinks their coefficients" + _ELSEWHERE
_TABLE = "compute the column in the table first"
_LAG = "lags, leads and differences are columns to compute in the table first, as in d['x_1'] = d.groupby('unit')['x'].shift()"

# -- in calls --------------------------------------------------------------------------------

# arguments of fits, by their names elsewhere
ARGUMENTS = {
    **dict.fromkeys(("weights", "weight", "sample_weight", "sample_weights", "pweights", "fweights", "wt"), _WEIGHTS),
    **dict.fromkeys(("cluster", "clusters", "groups", "id"), _CLUSTER),
    **dict.fromkeys(("vcov", "vce", "se", "cov", "se_type"), _COVARIANCE),
    **dict.fromkeys(("penalty", "l1_ratio", "L1_wt", "lambda_", "lam", "regularization", "l2"), _RIDGE),
    **dict.fromkeys(("fixef", "fe", "fixed_effects", "entity_effects", "time_effects"), _FIXED),
    **dict.fromkeys(("data", "df", "frame"), _DATA),
    **dict.fromkeys(("formula", "endog", "exog", "y", "X", "x"), _ARRAYS),
    **dict.fromkeys(("seed", "random_state", "rng"), _SEED),
    "robust": "robust standard errors are cov_type='HC1' (HC0 to HC3), and cov_type='cluster' for clusters",
    "family": "the outcome is binary, so that a family is its link: link='logit', 'probit', 'cloglog', ...",
    **dict.fromkeys(("stratum", "strat", "matched"), _STRATA),
    **dict.fromkeys(("random", "re_formula", "random_effects"), _RANDOM),
    **dict.fromkeys(("select", "stepwise", "direction"), _SELECTION),
    "C": "the ridge penalty is alpha=, which is 1 / C of scikit-learn",
    "method": "there is one solver, Newton's; other estimators are bias='firth', 'median', ..., and loss=",
    "solver": "there is one solver, Newton's",
    "optimizer": "there is one solver, Newton's",
    "firth": "it is bias='firth'",
    "pl": "profile limits are res.conf_int(method='profile')",
    "tau": "the share of events in the population is prevalence=",
    "case_control": "it is prevalence=, with sampling='weight' for weighting",
    "na_action": "incomplete rows are missing='drop' or 'raise'",
    "fit_intercept": "a formula has a constant unless it says - 1; a design matrix is taken as it is",
    "intercept": "a formula has a constant unless it says - 1; a design matrix is taken as it is",
    "max_iter": "it is maxiter=",
    "start": "it is start_params=",
    "verbose": "it is disp=True, and progress=True for a bar",
    "trials": "counts are two columns, 's + f ~ x', or shares with the trials as freq_weights=",
    "time": "the length of an interval is exposure='time', with link='cloglog'",
    "contrasts": "contrasts stand in the formula, C(g, Sum)",
    "ref": "the reference stands in the formula, C(g, Treatment('a'))",
    "conf_level": "it is an argument of what is asked for: res.conf_int(alpha=0.05)",
    "level": "it is an argument of what is asked for: res.conf_int(alpha=0.05)",
}

# values of options
VALUES = {
    "link": {
        "linear": f"it is link='identity'; {_RATIOS}",
        "poisson": "modified Poisson regression is link='log', loss='canonical'",
        **dict.fromkeys(("log-binomial", "logbinomial"), "it is link='log'"),
        **dict.fromkeys(("log-complement", "clog"), "it is link='logc'"),
        "logistic": "it is link='logit'",
        "cauchy": "it is link='cauchit'",
        "gumbel": "it is link='loglog', or link='cloglog' for the smallest value",
    },
    "cov_type": {
        **dict.fromkeys(("hetero", "heteroskedastic", "unadjusted robust"), _ROBUST),
        **dict.fromkeys(("white", "sandwich", "hc"), "it is cov_type='HC0', or 'HC1' with the correction n / (n - k)"),
        **dict.fromkeys(("iid", "standard", "unadjusted", "classical"), "it is cov_type='nonrobust'"),
        **dict.fromkeys(("crv1", "clustered", "cl", "panel"), _CLUSTER),
        **dict.fromkeys(("nw", "newey-west", "kernel"), "it is cov_type='HAC', cov_kwds={'maxlags': 4}"),
    },
    "bias": {
        **dict.fromkeys(("l1", "l2", "ridge", "lasso"), _RIDGE),
        "logistf": "it is bias='firth'",
        "relogit": "it is bias='king-zeng'",
    },
}

# -- in formulas -----------------------------------------------------------------------------

# functions of R's packages and of others
FUNCTIONS = {
    **dict.fromkeys(("s", "ti", "t2", "lo", "gp", "smooth"), _SMOOTH),
    **dict.fromkeys(("re", "ranef", "mo", "frailty"), _RANDOM),
    **dict.fromkeys(("Surv", "tt", "pspline", "ridge"), _SURVIVAL),
    **dict.fromkeys(("strata", "strat"), _STRATA),
    **dict.fromkeys(("sw", "sw0", "csw", "csw0", "mvsw"), _STEPS),
    **dict.fromkeys(("lag", "lead", "diff", "shift", "l", "f", "d", "L", "F", "D"), _LAG),
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

# & and | between terms
AMONG_TERMS = {
    "&": "among terms, & has no meaning: an interaction is a:b, and a condition goes into I(), as in I((a > 1) & (b < 2))",
    "(1 | g)": "(1 | g) is a random effect: " + _RANDOM + ". C(g) with bias='firth' has a coefficient for each group",
    "x | unit": "after a | stand units, as gevglm.fit() reads it: "
    + _FIXED
    + ". A condition goes into I(), as in I((a > 1) | (b < 2))",
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
