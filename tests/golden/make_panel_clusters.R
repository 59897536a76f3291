# Few clusters beside constants of units (and of periods) as dummies: clubSandwich's CR0, CR2 and CR3, Satterthwaite's degrees of freedom and HTZ.
# The units with both outcomes among the first 40 of panel.csv, which make_panel.R writes. CR3 of clusters of whole units is not defined there.
source("common.R")
suppressPackageStartupMessages(library(clubSandwich))

d <- read.csv("panel.csv")
d <- d[d$unit <= 40, ]
share <- ave(d$y, d$unit)
d <- d[share > 0 & share < 1, ]
d$region <- d$unit %/% 6
d$crossing <- (d$unit * 7 + d$period * 3) %% 11

# glm from its own estimates until nothing moves: vcovCR takes the weights of the last step.
settled <- function(formula, link) {
  fit <- glm(formula, binomial(link), d, control = glm.control(epsilon = 1e-12, maxit = 100))
  for (i in 1:8) {
    start <- coef(fit)
    fit <- suppressWarnings(glm(formula, binomial(link), d, start = start, control = glm.control(epsilon = 1e-16, maxit = 2)))
    if (max(abs(coef(fit) - start) / (abs(start) + 1e-3)) < 1e-12) break
  }
  fit
}

tests <- function(fit, cluster, kind) {
  V <- vcovCR(fit, cluster = d[[cluster]], type = kind)
  of_each <- coef_test(fit, vcov = V, test = "Satterthwaite", coefs = c("x", "z"))
  both <- Wald_test(fit, constrain_zero(1:2), vcov = V, test = "HTZ")
  list(bse = of_each$SE, df = of_each$df, F = both$Fstat, df_joint = both$df_denom)
}

one_fit <- function(formula, link) {
  fit <- settled(formula, link)
  cases <- list(c("unit", "CR0"), c("unit", "CR2"), c("region", "CR2"), c("crossing", "CR0"), c("crossing", "CR2"), c("crossing", "CR3"))
  found <- lapply(cases, function(case) tests(fit, case[1], case[2]))
  setNames(found, sapply(cases, paste, collapse = " "))
}

links <- c("logit", "probit", "cloglog")
by_link <- function(formula) setNames(lapply(links, function(link) one_fit(formula, link)), links)
write_golden("panel_clusters", list(
  about = "Cluster-robust covariances by the leverage of clusters, with dummies for the units with both outcomes among the first 40 of panel.csv",
  call = "vcovCR(glm(y ~ 0 + x + z + factor(unit) [+ factor(period)]), cluster, type), coef_test(test = 'Satterthwaite'), Wald_test(test = 'HTZ') of x and z",
  versions = versions("clubSandwich"),
  unit = by_link(y ~ 0 + x + z + factor(unit)),
  both = by_link(y ~ 0 + x + z + factor(unit) + factor(period))
))
