# What the scripts about survey designs share: svyglm to convergence, and what is kept of it.
suppressPackageStartupMessages(library(survey))

exact <- glm.control(epsilon = 1e-15, maxit = 100)

# svyglm from its own estimates until they no longer move
fit_to <- function(formula, design, link = "logit") {
  m <- NULL
  for (i in 1:30) {
    before <- if (is.null(m)) NULL else coef(m)
    m <- suppressWarnings(do.call(svyglm, list(formula, design = design, family = quasibinomial(link), control = exact, start = before)))
    if (!is.null(before) && max(abs(coef(m) - before)) < 1e-14) break
  }
  m
}

of <- function(m) {
  terms <- regTermTest(m, attr(terms(m), "term.labels"), method = "Wald")
  list(params = unname(coef(m)), cov = unname(vcov(m)), df = m$df.residual, p = unname(coef(summary(m))[, 4]),
       F = drop(terms$Ftest), F_df = unname(terms$df), F_ddf = unname(terms$ddf), F_p = drop(terms$p))
}

# svypredmeans: its numbers and the two parts that it adds
predicted_means <- function(formula, design, margin, values) {
  means <- svypredmeans(svyglm(formula, design, family = quasibinomial, control = exact), margin, predictat = values)
  V <- vcov(means)
  list(means = unname(coef(means)), cov = unname(matrix(c(V), length(values))),
       of_coefficients = unname(attr(attr(means, "var"), "parts")[[1]]), of_covariates = unname(attr(attr(means, "var"), "parts")[[2]]))
}
