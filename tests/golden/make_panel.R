# Constants of 300 units as dummies: mean and median bias reduction by brglm2, three links; all units, and those with both outcomes.
# (Median bias reduction of all units is that of the first 100: with 302 coefficients brglm2 takes minutes for each link.)
# The panel is synthetic (panel.csv, written here).
source("common.R")
suppressMessages(library(brglm2))

set.seed(22)
units <- 300
periods <- 6
d <- data.frame(unit = rep(seq_len(units), each = periods), period = rep(seq_len(periods), units))
constant <- rnorm(units, -1.6, 0.8)
d$x <- round(rnorm(nrow(d)) + 0.5 * constant[d$unit], 3)
d$z <- rbinom(nrow(d), 1, 0.4)
d$y <- rbinom(nrow(d), 1, plogis(constant[d$unit] + 0.7 * d$x - 0.5 * d$z))
write.csv(d[c("unit", "period", "y", "x", "z")], "panel.csv", row.names = FALSE)
share <- ave(d$y, d$unit)
informative <- d[share > 0 & share < 1, ]

reduced <- function(link, type, data) {
  fit <- glm(y ~ 0 + x + z + factor(unit), binomial(link), data, method = "brglmFit",
             control = brglmControl(type = type, epsilon = 1e-11, maxit = 2000))
  stopifnot(fit$converged)
  values <- coef(summary(fit))
  list(params = as.list(values[1:2, 1]), bse = unname(values[1:2, 2]), constants = unname(values[3:7, 1]), constants_bse = unname(values[3:7, 2]))
}
links <- c("logit", "probit", "cloglog")
by_link <- function(type, data) setNames(lapply(links, reduced, type = type, data = data), links)

write_golden("panel", list(
  about = "Mean and median bias reduction with a dummy for each of 300 units (median of all units: of the first 100); constants are those of the first five units in the fit",
  call = "glm(y ~ 0 + x + z + factor(unit), binomial(link), method = \"brglmFit\", control = brglmControl(type = \"AS_mean\" or \"AS_median\"))",
  versions = versions("brglm2"),
  all = list(mean = by_link("AS_mean", d), median = by_link("AS_median", d[d$unit <= 100, ])),
  informative = list(mean = by_link("AS_mean", informative), median = by_link("AS_median", informative))
))
