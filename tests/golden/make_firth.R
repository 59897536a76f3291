# Firth's logistic regression, FLIC and FLAC, solved here from their definitions: estimates, penalised likelihood ratios, profile limits.
# logistf.json holds what the package logistf says of one of the sets.
source("common.R")

penalised <- function(b, set) {
  loglik(b, set, "logit") + 0.5 * as.numeric(determinant(information(b, set, "logit"))$modulus)
}

leverages <- function(b, set) {
  p <- plogis(drop(set$X %*% b))
  w <- set$trials * p * (1 - p)
  w * rowSums((set$X %*% solve(information(b, set, "logit"))) * set$X)
}

modified_score <- function(b, set) {
  p <- plogis(drop(set$X %*% b))
  drop(crossprod(set$X, set$y - set$trials * p + leverages(b, set) * (0.5 - p)))
}

# The root of the modified scores in the free coefficients, by scoring with halved steps; the rest are held.
firth <- function(set, b = numeric(ncol(set$X)), free = seq_along(b)) {
  value <- penalised(b, set)
  for (i in 1:2000) {
    step <- solve(information(b, set, "logit")[free, free], modified_score(b, set)[free])
    repeat {
      trial <- b
      trial[free] <- b[free] + step
      new <- penalised(trial, set)
      if (is.finite(new) && new >= value - 1e-13 * abs(value)) break
      step <- step / 2
    }
    b <- trial
    value <- new
    if (max(abs(step)) < 1e-14) break
  }
  setNames(b, colnames(set$X))
}

# Profile limits and likelihood ratios of an objective that `maximise(b, free)` maximises over free coefficients.
profiles <- function(b, V, objective, maximise) {
  top <- objective(b)
  ratio <- function(value, j) {
    along <- b + V[, j] / V[j, j] * (value - b[j])
    along[j] <- value
    2 * (top - objective(maximise(along, seq_along(b)[-j])))
  }
  limit <- function(j, reach) crossing(function(v) qchisq(0.95, 1) - ratio(v, j), b[j], reach * sqrt(V[j, j]))
  statistics <- sapply(seq_along(b), function(j) ratio(0, j))
  names <- names(b)
  list(ci_lower = named(sapply(seq_along(b), limit, reach = -1.7), names), ci_upper = named(sapply(seq_along(b), limit, reach = 1.7), names),
       statistic = named(statistics, names), p_value = named(pchisq(statistics, 1, lower.tail = FALSE), names))
}

# FLIC (Puhr et al. 2017): Firth's slopes, and the constant that predicts the observed rate.
flic <- function(set, b) {
  rest <- drop(set$X[, -1] %*% b[-1])
  b[1] <- uniroot(function(a) sum(set$trials * plogis(a + rest) - set$y), b[1] + c(-5, 5), tol = 1e-15)$root
  list(coef = named(b), fitted = plogis(drop(set$X %*% b)))
}

# FLAC: maximum likelihood on the rows and, twice with weights h/2, their pseudo-observations, told apart by an indicator.
flac <- function(set, b) {
  h <- leverages(b, set)
  n <- length(h)
  augmented <- list(X = cbind(rbind(set$X, set$X, set$X), pseudo = rep(0:1, c(n, 2 * n))),
                    y = c(set$y, h / 2, numeric(n)), trials = c(set$trials, h / 2, h / 2))
  a <- polish(c(b, pseudo = 0), augmented, "logit")
  V <- inverse_information(a, augmented, "logit")
  limits <- profiles(a, V, function(b) loglik(b, augmented, "logit"), function(b, free) polish(b, augmented, "logit", free, steps = 60))
  own <- seq_along(b)
  c(list(coef = named(a[own]), se = named(errors(V)[own], names(b)), fitted = plogis(drop(set$X %*% a[own]))),
    lapply(limits, function(values) values[own]))
}

case <- function(name) {
  set <- golden_set(name)
  b <- firth(set)
  V <- inverse_information(b, set, "logit")
  top <- penalised(b, set)
  list(
    provenance = provenance(set), mean_y = mean(set$y),
    firth = c(list(coef = named(b), se = named(errors(V), names(b)), penalised_loglik = top, max_abs_modified_score = max(abs(modified_score(b, set))),
                   lr_statistic = 2 * (top - penalised(firth(set, free = 1), set)), df = ncol(set$X) - 1),
              profiles(b, V, function(b) penalised(b, set), function(b, free) firth(set, b, free))),
    flic = flic(set, b),
    flac = flac(set, b)
  )
}

write_golden("firth", list(
  about = "Firth's logistic regression, FLIC and FLAC, from their definitions",
  call = "base R: scoring on the modified scores X'(y - p + h (1/2 - p)); limits and tests by uniroot on the penalised likelihood",
  versions = versions("MASS"),
  cases = sapply(c("binaries", "birthwt"), case, simplify = FALSE)
))
