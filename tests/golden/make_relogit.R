# King and Zeng's rare events logit by Zelig, and their correction of probabilities by hand.
source("common.R")
suppressPackageStartupMessages(library(sandwich))

TAU <- c(nwtco = 0.05, rare = 0.02)

# Zelig evaluates the call again in other places, so that it must hold its arguments themselves.
relogit <- function(set, tau, bias, how) {
  set$frame$y <- set$y
  suppressWarnings(do.call(Zelig::relogit, list(update(set$formula, y ~ .), set$frame, tau = tau, bias.correct = bias, case.control = how,
                                                control = glm.control(epsilon = 1e-14, maxit = 200))))
}

one_fit <- function(set, tau, how, bias) {
  fit <- relogit(set, if (how == "no_tau") NULL else tau, bias, if (how == "weighting") "weighting" else "prior")
  b <- setNames(coef(fit), colnames(set$X))
  list(coef = named(b), se = named(errors(summary.glm(fit)$cov.scaled), names(b)),
       HC0_se = named(errors(vcovHC(fit, type = "HC0")), names(b)), HC1_se = named(errors(vcovHC(fit, type = "HC1")), names(b)),
       predicted = first_rows(plogis(drop(set$X %*% b))))
}

# King and Zeng (2001), section 4: C = (1/2 - p) p (1 - p) x'Vx, with V times (n / (n + k))^2.
probabilities <- function(set) {
  fit <- relogit(set, NULL, TRUE, "prior")
  p <- plogis(drop(set$X %*% coef(fit)))
  V <- summary.glm(fit)$cov.scaled * (nrow(set$X) / sum(dim(set$X)))^2
  list(p = first_rows(p), correction = first_rows((0.5 - p) * p * (1 - p) * rowSums((set$X %*% V) * set$X)))
}

case <- function(name) {
  set <- golden_set(name)
  fits <- list()
  for (how in c("no_tau", "prior", "weighting")) for (bias in c(FALSE, TRUE)) {
    fits[[paste0(how, "/bias_", bias)]] <- one_fit(set, TAU[[name]], how, bias)
  }
  list(provenance = provenance(set), tau = TAU[[name]], fits = fits, probabilities = probabilities(set))
}

write_golden("relogit", list(
  about = "King and Zeng's rare events logit by Zelig",
  call = paste("Zelig::relogit(formula, data, tau, bias.correct, case.control, control = glm.control(epsilon = 1e-14));",
               "standard errors are those of the uncorrected fit, never times n / (n + k); vectors over rows: the first 20"),
  versions = versions("Zelig", "sandwich", "survival"),
  cases = sapply(names(TAU), case, simplify = FALSE)
))
