# Survey designs: svyglm with strata, units, finite populations, domains, lonely units and replicate weights; regTermTest; svypredmeans; risks by
# influence functions. Data are those of the packages survey (nhanes, apiclus1, apistrat) and a synthetic sample, whose rows a congruential generator makes.
source("common.R")
source("survey_fits.R")

# a sample of 8 strata with 2 to 6 units of 6 to 20 rows; numbers from a congruential generator, so that Python makes the same
lcg <- function(n, seed) {
  x <- numeric(n)
  for (i in seq_len(n)) { seed <- (seed * 16807) %% 2147483647; x[i] <- seed / 2147483647 }
  x
}

synthetic <- function() {
  units <- c(2, 3, 4, 5, 6, 2, 3, 4)
  strata <- rep(seq_along(units), units)
  psu <- unlist(lapply(units, seq_len))
  u <- lcg(length(psu), 11)
  rows <- 6 + floor(15 * u)
  d <- data.frame(stratum = rep(strata, rows), psu = rep(psu, rows), effect = rep(lcg(length(psu), 17), rows))
  n <- nrow(d)
  d$x <- round(2 * lcg(n, 23) - 1, 3)
  d$treat <- as.integer(lcg(n, 29) < 0.5)
  d$region <- c("a", "b", "c")[1 + floor(3 * lcg(n, 31))]
  d$weight <- round(10 + 90 * lcg(n, 37), 2)
  d$size <- c(20, 12, 9, 50, 30, 4, 8, 16)[d$stratum]
  risk <- 1 / (1 + exp(2.2 - 0.8 * d$x - 0.6 * d$treat - 1.5 * (d$effect - 0.5)))
  d$y <- as.integer(lcg(n, 41) < risk)
  d
}

d <- synthetic()
d$lone <- ifelse(d$stratum == 1 & d$psu == 2, 9, d$stratum)
formula <- y ~ region + x + treat
whole <- svydesign(~psu, strata = ~stratum, weights = ~weight, data = d, nest = TRUE)
finite <- svydesign(~psu, strata = ~stratum, weights = ~weight, fpc = ~size, data = d, nest = TRUE)
rows_only <- svydesign(~1, strata = ~stratum, weights = ~weight, data = d)
unstratified <- svydesign(~interaction(stratum, psu), weights = ~weight, data = d)
lonely <- function(rule, fpc) {
  options(survey.lonely.psu = rule)
  design <- if (fpc) svydesign(~psu, strata = ~lone, weights = ~weight, fpc = ~I(size + 10 * (lone == 9)), data = d, nest = TRUE) else
    svydesign(~psu, strata = ~lone, weights = ~weight, data = d, nest = TRUE)
  found <- of(fit_to(formula, design))
  options(survey.lonely.psu = "fail")
  found
}

replicated <- function(type, ...) {
  set.seed(1)
  design <- as.svrepdesign(if (type %in% c("BRR", "Fay")) svydesign(~psu, strata = ~stratum, weights = ~weight, data = subset(d, psu < 3), nest = TRUE) else
    if (type == "JK1") unstratified else whole, type = type, ...)
  m <- fit_to(y ~ x + treat, design)
  first <- !duplicated(paste(design$variables$stratum, design$variables$psu))
  ratios <- as.matrix(weights(design, "analysis"))[first, ] / design$variables$weight[first] # of each unit
  c(of(m), list(ratios = unname(round(ratios, 14)), scale = design$scale, rscales = design$rscales))
}

# covariance of standardised risks by influences on coefficients and covariates together
risks <- function(m, design, variable, values) {
  frame <- model.frame(m)
  w <- weights(design)
  w <- w[w != 0]
  X <- model.matrix(m)
  p <- fitted(m)
  slope <- m$family$mu.eta(m$linear.predictors)
  bread <- solve(crossprod(X, w * slope^2 / (p * (1 - p)) * X))
  of_params <- (w * slope * (m$y - p) / (p * (1 - p))) * (X %*% bread)
  parts <- sapply(values, function(value) {
    changed <- frame
    changed[[variable]][] <- value
    Z <- model.matrix(delete.response(terms(m)), changed, xlev = m$xlevels)
    eta <- drop(Z %*% coef(m))
    risk <- m$family$linkinv(eta)
    mean_risk <- sum(w * risk) / sum(w)
    c(mean_risk, w * (risk - mean_risk) / sum(w) + drop(of_params %*% (colSums(w * m$family$mu.eta(eta) * Z) / sum(w))))
  })
  V <- svyrecvar(parts[-1, ], design$cluster, design$strata, design$fpc, postStrata = NULL)
  list(risks = parts[1, ], cov = unname(V))
}

data(nhanes)
high <- HI_CHOL ~ race + agecat + RIAGENDR
nhanes$race <- factor(nhanes$race)
nhanes$RIAGENDR <- factor(nhanes$RIAGENDR)
national <- svydesign(~SDMVPSU, strata = ~SDMVSTRA, weights = ~WTMEC2YR, nest = TRUE, data = nhanes)
women <- fit_to(HI_CHOL ~ race + agecat, subset(national, RIAGENDR == 2))
data(api)
apistrat$met <- as.integer(apistrat$sch.wide == "Yes")
apiclus1$met <- as.integer(apiclus1$sch.wide == "Yes")
schools <- svydesign(~1, strata = ~stype, weights = ~pw, fpc = ~fpc, data = apistrat)
districts <- svydesign(~dnum, weights = ~pw, fpc = ~fpc, data = apiclus1)
plain <- fit_to(formula, whole)
means <- coef(svypredmeans(svyglm(y ~ x + region, update(whole, arm = factor(treat)), family = quasibinomial, control = exact), ~arm))

write_golden("survey_design", list(
  about = "Survey designs: svyglm, regTermTest, svypredmeans; standardised risks by influences",
  call = "svyglm(..., family = quasibinomial) refitted from its own estimates until they do not move; designs as the script says",
  versions = versions("survey"),
  synthetic = list(
    rows = nrow(d), sums = c(sum(d$x), sum(d$weight), sum(d$y)),
    whole = c(of(plain), list(risks = risks(plain, whole, "treat", c(0, 1)))),
    probit = of(fit_to(formula, whole, "probit")), cloglog = of(fit_to(formula, whole, "cloglog")),
    finite = c(of(fit_to(formula, finite)), list(risks = risks(fit_to(formula, finite), finite, "treat", c(0, 1)))),
    rows_only = of(fit_to(formula, rows_only)), unstratified = of(fit_to(formula, unstratified)),
    domain = of(fit_to(y ~ x + treat, subset(whole, region == "b"))), domain_finite = of(fit_to(y ~ x + treat, subset(finite, region == "b" & x > 0))),
    lonely = sapply(c("adjust", "average", "certainty", "remove"), function(rule) list(infinite = lonely(rule, FALSE), finite = lonely(rule, TRUE)), simplify = FALSE),
    JK1 = replicated("JK1"), JKn = replicated("JKn"), BRR = replicated("BRR"), Fay = replicated("Fay", fay.rho = 0.3),
    bootstrap = replicated("bootstrap", replicates = 30), JKn_mse = replicated("JKn", mse = TRUE),
    predmeans = unname(means),
    domain_mean = list(mean = unname(coef(svymean(~y, subset(whole, region == "c")))), se = unname(drop(SE(svymean(~y, subset(whole, region == "c"))))))
  ),
  nhanes = c(of(fit_to(high, national)), list(women = of(women))),
  apistrat = of(fit_to(met ~ meals + ell, schools)),
  apiclus1 = of(fit_to(met ~ meals + mobility, districts))
))
