# Standardised risks of smoking in birthwt by the logit: delta method with two covariances, and M-estimation.
source("common.R")

set <- golden_set("birthwt")
b <- maximum_likelihood(set, "logit")
n <- nrow(set$X)
exposure <- "smoke"
at <- lapply(0:1, function(value) { X <- set$X; X[, exposure] <- value; X })
p <- lapply(at, function(X) plogis(drop(X %*% b)))
risk <- sapply(p, mean)
gradient <- sapply(1:2, function(i) colMeans(p[[i]] * (1 - p[[i]]) * at[[i]]))

fitted <- plogis(drop(set$X %*% b))
A <- solve(information(b, set, "logit"))
scores <- (set$y - fitted) * set$X
HC0 <- A %*% crossprod(scores) %*% A

contrasts_with <- function(S) { # S: covariance of (risk0, risk1)
  difference <- c(-1, 1)
  log_ratio <- c(-1 / risk[1], 1 / risk[2])
  log_odds <- c(-1, 1) / (risk * (1 - risk))
  se <- function(g) sqrt(drop(g %*% S %*% g))
  ratio <- risk[2] / risk[1]
  log_or <- qlogis(risk[2]) - qlogis(risk[1])
  list(risk0 = risk[1], risk0_se = sqrt(S[1, 1]), risk1 = risk[2], risk1_se = sqrt(S[2, 2]),
       risk_difference = risk[2] - risk[1], risk_difference_se = se(difference), risk_ratio = ratio, risk_ratio_se = ratio * se(log_ratio),
       odds_ratio_marginal = exp(log_or), log_odds_ratio_marginal = log_or, log_odds_ratio_marginal_se = se(log_odds))
}

# influence functions that also count the sampling of the covariates: p(i) - R + G' n A psi(i)
influence <- sapply(1:2, function(i) p[[i]] - risk[i] + drop(scores %*% (n * A) %*% gradient[, i]))

write_golden("standardisation", list(
  about = "Standardised risks (smoke = 1 against 0) of the logit model of birthwt",
  call = "base R; m_estimation: covariance = sum of squared influence functions / n^2 (stdReg divides by n - 1: see stdreg.json)",
  versions = versions("MASS"), provenance = provenance(set),
  delta_method = contrasts_with(t(gradient) %*% A %*% gradient),
  delta_method_HC0 = contrasts_with(t(gradient) %*% HC0 %*% gradient),
  m_estimation = contrasts_with(crossprod(influence) / n^2)
))
