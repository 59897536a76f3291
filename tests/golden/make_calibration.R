# Calibration and discrimination of the predictions in calibration.csv, by rms, pROC and base R.
# calibration_packages.json holds what packages outside Debian say of them.
source("common.R")

d <- read.csv("calibration.csv")
y <- d$y
p <- d$p
n <- length(y)

stats <- unclass(suppressWarnings(rms::val.prob(p, y, pl = FALSE)))

# glm twice, the second time from the end of the first, so that its covariance is that of its estimates
lp <- qlogis(p)
control <- glm.control(epsilon = 1e-15, maxit = 100)
slope <- glm(y ~ lp, binomial, control = control)
slope <- glm(y ~ lp, binomial, start = coef(slope), control = control)
large <- glm(y ~ 1, binomial, offset = lp, control = control)
large <- glm(y ~ 1, binomial, offset = lp, start = coef(large), control = control)

roc <- pROC::roc(y, p, quiet = TRUE, direction = "<")

# groups cut at quantiles of p, closed on the right (as ResourceSelection::hoslem.test), and groups of equal size by rank
hosmer_lemeshow <- function(group, df) {
  observed <- tapply(y, group, sum)
  expected <- tapply(p, group, sum)
  size <- tapply(y, group, length)
  statistic <- sum((observed - expected)^2 / (expected * (1 - expected / size)))
  list(statistic = statistic, df = df, p_value = pchisq(statistic, df, lower.tail = FALSE))
}
by_quantiles <- function(g) cut(p, quantile(p, seq(0, 1, 1 / g)), include.lowest = TRUE)
by_rank <- ceiling(rank(p, ties.method = "first") * 10 / n)

errors_over <- function(group) {
  gap <- abs(tapply(y, group, mean) - tapply(p, group, mean))
  share <- table(group) / n
  gap <- gap[!is.na(gap)]
  share <- share[share > 0]
  list(ece = sum(share * gap), rms = sqrt(sum(share * gap^2)), mce = max(gap))
}

# isotonic regression and the parts of the Brier score it gives (CORP, Dimitriadis et al. 2021)
order <- order(p)
isotonic <- numeric(n)
isotonic[order] <- isoreg(p[order], y[order])$yf
brier <- mean((y - p)^2)
after <- mean((y - isotonic)^2)
base <- mean(y) * (1 - mean(y))

smooth <- predict(loess(y ~ p, degree = 2))

write_golden("calibration", list(
  about = "Calibration and discrimination of 1,000 predictions with 153 events (calibration.csv)",
  call = paste("rms::val.prob(p, y, pl = FALSE); glm(y ~ qlogis(p)) and glm(y ~ 1, offset = qlogis(p)); pROC::var and ci(method = 'delong');",
               "Hosmer-Lemeshow, calibration errors over bins by hand; isoreg; loess(y ~ p, degree = 2) for ICI and ECI"),
  versions = versions("rms", "Hmisc", "pROC"),
  n = n, events = sum(y), brier = brier, log_loss = -mean(ifelse(y == 1, log(p), log1p(-p))),
  val_prob = as.list(stats),
  recalibration = list(
    slope_model = list(coef = unname(coef(slope)), vcov = unname(vcov(slope)), loglik = as.numeric(logLik(slope))),
    in_the_large = list(coef = unname(coef(large)), se = sqrt(vcov(large)[1, 1]), loglik = as.numeric(logLik(large))),
    loglik_predicted = sum(ifelse(y == 1, log(p), log1p(-p)))
  ),
  auc = as.numeric(roc$auc), auc_delong_var = as.numeric(pROC::var(roc, method = "delong")),
  auc_delong_ci95 = as.numeric(pROC::ci.auc(roc, method = "delong")),
  hosmer_lemeshow = sapply(c(g5 = 5, g8 = 8, g10 = 10), function(g) hosmer_lemeshow(by_quantiles(g), g - 2), simplify = FALSE),
  hosmer_lemeshow_external = hosmer_lemeshow(by_rank, 10),
  errors_equal_width = errors_over(cut(p, seq(0, 1, 0.1), include.lowest = TRUE)),
  errors_equal_mass = errors_over(by_rank),
  corp = list(score = brier, miscalibration = brier - after, discrimination = base - after, uncertainty = base, isotonic = isotonic),
  loess = list(ici = mean(abs(p - smooth)), eci = 100 * mean((p - smooth)^2))
))
