# stats::glm, sandwich, and profile limits by uniroot, for four links.
source("common.R")
suppressPackageStartupMessages(library(sandwich))

CONTROL <- glm.control(epsilon = 1e-15, maxit = 100)

# glm from estimates that are exact to the last digits, so that its weights are those of the estimates.
exact_glm <- function(set, link, ...) {
  suppressWarnings(glm(set$formula, binomial(link), set$frame, start = maximum_likelihood(set, link), control = CONTROL, ...))
}

# Where twice the log likelihood ratio reaches its 95 % quantile, one coefficient held and the others maximised over.
profile_limits <- function(set, link, b, V) {
  top <- loglik(b, set, link)
  left <- function(value, j) {
    along <- b + V[, j] / V[j, j] * (value - b[j])
    qchisq(0.95, 1) - 2 * (top - loglik(polish(along, set, link, seq_along(b)[-j], steps = 60), set, link))
  }
  limits <- sapply(seq_along(b), function(j) {
    sapply(c(-1.7, 1.7), function(reach) crossing(function(v) left(v, j), b[j], reach * sqrt(V[j, j])))
  })
  list(lower = named(limits[1, ], names(b)), upper = named(limits[2, ], names(b)))
}

one_fit <- function(set, link) {
  fit <- exact_glm(set, link)
  b <- coef(fit)
  names(b) <- colnames(set$X)
  V <- summary(fit)$cov.unscaled
  observed <- solve(-numDeriv::jacobian(score, b, set = set, link = link))
  rows <- c(1, 2, 5, length(set$y))
  linear <- predict(fit, type = "link", se.fit = TRUE)
  response <- predict(fit, type = "response", se.fit = TRUE)
  table <- coef(summary(fit))
  clusters <- function(...) unname(vcovCL(fit, cluster = set$cluster, ...))
  list(
    coef = named(b), se = named(errors(V), names(b)), z = named(table[, 3], names(b)), p_value = named(table[, 4], names(b)),
    vcov = unname(V), vcov_observed = observed, se_observed = named(errors(observed), names(b)),
    loglik = as.numeric(logLik(fit)), deviance = deviance(fit), null_deviance = fit$null.deviance, aic = AIC(fit), bic = BIC(fit),
    pearson_chi2 = sum(residuals(fit, "pearson")^2),
    fitted = first_rows(fitted(fit)), linear_predictor = first_rows(fit$linear.predictors), hat = first_rows(hatvalues(fit)),
    cooks_distance = first_rows(cooks.distance(fit)), resid_deviance = first_rows(residuals(fit, "deviance")),
    resid_pearson = first_rows(residuals(fit, "pearson")), resid_deviance_standardised = first_rows(rstandard(fit, type = "deviance")),
    sandwich = sapply(c("HC0", "HC1", "HC2", "HC3"), function(type) unname(vcovHC(fit, type = type)), simplify = FALSE),
    cluster_robust = list(plain = clusters(type = "HC0", cadjust = FALSE), corrected = clusters(type = "HC1", cadjust = TRUE)),
    profile_limits = profile_limits(set, link, b, V),
    predict_rows = rows, predict_link = unname(linear$fit[rows]), predict_link_se = unname(linear$se.fit[rows]),
    predict_response = unname(response$fit[rows]), predict_response_se = unname(response$se.fit[rows])
  )
}

case <- function(name) {
  set <- golden_set(name)
  list(provenance = provenance(set), fits = sapply(LINKS, function(link) one_fit(set, link), simplify = FALSE))
}

weighted <- function(set) {
  set$trials <- ifelse(set$y == 1, 1, 2.5)
  set$y <- set$y * set$trials
  set$frame$outcome <- golden_set("rare")$y
  set$frame$weight <- set$trials
  fit <- suppressWarnings(glm(update(set$formula, outcome ~ .), binomial(), set$frame, weights = weight,
                              start = polish(start_values(set, "logit"), set, "logit"), control = CONTROL))
  list(weights = "1 for events, 2.5 for the others", coef = named(coef(fit)), vcov = unname(vcov(fit)),
       HC0 = unname(vcovHC(fit, type = "HC0")), deviance = deviance(fit))
}

write_golden("glm", list(
  about = "Binomial regressions by stats::glm, robust covariances by sandwich, exact profile limits",
  call = paste("glm(formula, binomial(link), control = glm.control(epsilon = 1e-15)) from estimates polished by Fisher scoring;",
               "vcovHC(fit, type), vcovCL(fit, cluster, type = 'HC0', cadjust = FALSE) and (type = 'HC1', cadjust = TRUE);",
               "observed information: numDeriv::jacobian of the analytic score; vectors over rows: the first 20"),
  versions = versions("sandwich", "numDeriv", "MASS", "brglm2", "survival"),
  cases = sapply(c("birthwt", "lizards", "nwtco", "rare"), case, simplify = FALSE),
  weighted_logit_rare = weighted(golden_set("rare"))
))
