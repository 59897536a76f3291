# Random-effects summaries by REML (metafor).
source("common.R")
suppressPackageStartupMessages(library(metafor))

set.seed(25)
pooled <- function(k, tau) {
  v <- round(runif(k, 0.005, 0.2), 4)
  y <- round(rnorm(k, 0.3, sqrt(tau^2 + v)), 4)
  fit <- rma(y, v, method = "REML", control = list(threshold = 1e-13, maxiter = 10000))
  list(y = y, v = v, tau2 = fit$tau2, estimate = as.numeric(fit$b), se = fit$se,
       blup = as.numeric(blup(fit)$pred))
}

write_golden("random_effects", list(
  about = "Means of groups by random effects, tau-squared by restricted maximum likelihood, and best linear unbiased predictions",
  call = "metafor::rma(y, v, method = 'REML', control = list(threshold = 1e-13, maxiter = 10000)); metafor::blup()",
  versions = versions("metafor"),
  sets = list(five = pooled(5, 0.4), twelve = pooled(12, 0.3), forty = pooled(40, 0.15), none = pooled(8, 0), two = pooled(2, 0.5))
))
