# Risk ratios: log-binomial models and their bias reductions, modified Poisson with robust errors, risk differences.
source("common.R")
suppressPackageStartupMessages({library(sandwich); library(brglm2)})

SETS <- c("birthwt", "rare", "nwtco")  # of nwtco the log-binomial maximum is on the boundary, which glm does not find
TYPES <- c("AS_mean", "AS_median")

# Of birthwt three columns, with which the maximum is inside the support.
some_columns <- function(set, columns) {
  set$X <- set$X[, c("(Intercept)", columns)]
  set$frame <- set$frame[, c(columns, "counts")]
  set$formula <- reformulate(columns, "counts")
  set
}

start_of <- function(set, link) {
  rate <- sum(set$y) / sum(set$trials)
  setNames(c(if (link == "log") log(rate) else rate, rep(0, ncol(set$X) - 1)), colnames(set$X))
}

binomial_fit <- function(set, link) {
  b <- polish(start_of(set, link), set, link)
  plain <- tryCatch(coef(glm(set$formula, binomial(link), set$frame, start = b, control = glm.control(epsilon = 1e-14))), error = function(e) NULL)
  stopifnot(is.null(plain) || max(abs(plain - b)) < 1e-5)  # glm, from there, stays there
  V <- inverse_information(b, set, link)
  list(coef = named(b, colnames(set$X)), se = named(errors(V), colnames(set$X)), loglik = loglik(b, set, link),
       largest = max(distribution(link, drop(set$X %*% b))$p))
}

reduced <- function(set, type) {
  fit <- glm(set$formula, binomial("log"), set$frame, start = start_of(set, "log"), method = "brglmFit",
             control = list(type = type, epsilon = 1e-12, maxit = 5000, slowit = 0.5))
  list(coef = named(coef(fit), colnames(set$X)), se = named(errors(vcov(fit)), colnames(set$X)), converged = fit$converged)
}

poisson_fit <- function(set) {
  rows <- rep(seq_along(set$y), set$trials)  # one row for each trial
  y <- unlist(Map(function(s, t) rep(c(1, 0), c(s, t - s)), set$y, set$trials))
  d <- data.frame(y = y, set$frame[rows, names(set$frame) != "counts"], check.names = FALSE)
  fit <- glm(update(set$formula, y ~ .), poisson, d, control = glm.control(epsilon = 1e-15, maxit = 100))
  list(coef = named(coef(fit), colnames(set$X)), se = named(errors(vcovHC(fit, type = "HC0")), colnames(set$X)),
       deviance = deviance(fit), largest = max(fitted(fit)))
}

least_squares <- function(set) {
  rows <- rep(seq_along(set$y), set$trials)
  y <- unlist(Map(function(s, t) rep(c(1, 0), c(s, t - s)), set$y, set$trials))
  fit <- lm.fit(set$X[rows, ], y)
  b <- coef(fit)
  B <- solve(crossprod(set$X[rows, ]))
  list(coef = named(b, colnames(set$X)), se = named(errors(B %*% crossprod(set$X[rows, ] * residuals(fit)) %*% B), colnames(set$X)))
}

cases <- lapply(setNames(nm = SETS), function(name) {
  set <- golden_set(name)
  rows <- provenance(set)
  if (name == "birthwt") set <- some_columns(set, c("lwt", "smoke", "ui"))
  inside <- name != "nwtco"
  list(provenance = rows, columns = colnames(set$X), log = if (inside) binomial_fit(set, "log"),
       reduced = if (inside) lapply(setNames(nm = TYPES), function(type) reduced(set, type)),
       poisson = poisson_fit(set), least_squares = least_squares(set), identity = if (!inside) binomial_fit(set, "identity"))
})

write_golden("risk_ratios", list(
  about = "Log-binomial models (glm, polished by Fisher scoring), brglm2 with the log link, Poisson with sandwich HC0, linear risks.",
  call = "glm(binomial('log')), brglmFit(type = AS_mean, AS_median), glm(poisson) with vcovHC(type = 'HC0'), glm(binomial('identity')), lm",
  versions = versions("sandwich", "brglm2", "survival"), cases = cases))
