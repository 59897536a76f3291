# Constants of units and of periods as dummies: mean and median bias reduction by brglm2, three links, for the units with both outcomes among the
# first 40 of panel.csv, which make_panel.R writes.
source("common.R")
suppressMessages(library(brglm2))

d <- read.csv("panel.csv")
d <- d[d$unit <= 40, ]
share <- ave(d$y, d$unit)
d <- d[share > 0 & share < 1, ]

reduced <- function(link, type) {
  fit <- glm(y ~ 0 + x + z + factor(unit) + factor(period), binomial(link), d, method = "brglmFit",
             control = brglmControl(type = type, epsilon = 1e-11, maxit = 2000))
  stopifnot(fit$converged)
  values <- coef(summary(fit))
  units <- 3:(nrow(values) - 5)
  list(params = as.list(values[1:2, 1]), bse = unname(values[1:2, 2]), units = unname(values[units, 1]), units_bse = unname(values[units, 2]),
       periods = unname(values[-(1:max(units)), 1]), periods_bse = unname(values[-(1:max(units)), 2]))
}
links <- c("logit", "probit", "cloglog")
by_link <- function(type) setNames(lapply(links, reduced, type = type), links)

write_golden("panel_two_ways", list(
  about = "Mean and median bias reduction with dummies for the units with both outcomes among the first 40 of panel.csv, and for the periods",
  call = "glm(y ~ 0 + x + z + factor(unit) + factor(period), binomial(link), method = \"brglmFit\", control = brglmControl(type = \"AS_mean\" or \"AS_median\"))",
  versions = versions("brglm2"),
  mean = by_link("AS_mean"),
  median = by_link("AS_median")
))
