# Tests of terms: car::Anova (types II and III, three tests), anova and drop1 of glm, Wald tests with clusters.
source("common.R")
suppressPackageStartupMessages({library(car); library(sandwich)})

CONTROL <- glm.control(epsilon = 1e-15, maxit = 100)

columns <- function(table, names) {
  rows <- setdiff(rownames(table), c("NULL", "<none>", "Residuals", "(Intercept)"))
  stats::setNames(lapply(names, function(name) as.list(stats::setNames(table[rows, name], rows))), c("df", "statistic", "pvalue"))
}

one_set <- function(formula, data, cluster, source) {
  fit <- do.call(glm, list(formula, binomial(), data, control = CONTROL))
  dropped <- drop1(fit, test = "Chisq")
  list(
    formula = deparse1(formula), source = source, rows = nrow(data), events = sum(fit$y * fit$prior.weights),
    II = columns(Anova(fit, type = "II"), c("Df", "LR Chisq", "Pr(>Chisq)")),
    III = columns(Anova(fit, type = "III"), c("Df", "LR Chisq", "Pr(>Chisq)")),
    I = columns(anova(fit, test = "Chisq"), c("Df", "Deviance", "Pr(>Chi)")),
    I_score = columns(anova(fit, test = "Rao"), c("Df", "Rao", "Pr(>Chi)")),
    II_Wald = columns(Anova(fit, type = "II", test.statistic = "Wald"), c("Df", "Chisq", "Pr(>Chisq)")),
    III_Wald = columns(Anova(fit, type = "III", test.statistic = "Wald"), c("Df", "Chisq", "Pr(>Chisq)")),
    II_F = columns(Anova(fit, type = "II", test.statistic = "F"), c("Df", "F value", "Pr(>F)")),
    II_cluster = columns(Anova(fit, type = "II", test.statistic = "Wald", vcov. = vcovCL(fit, cluster)), c("Df", "Chisq", "Pr(>Chisq)")),
    drop1 = columns(dropped, c("Df", "LRT", "Pr(>Chi)")),
    drop1_aic = as.list(stats::setNames(dropped$AIC, rownames(dropped))),
    drop1_score = columns(drop1(fit, test = "Rao"), c("Df", "Rao score", "Pr(>Chi)")),
    llr = fit$null.deviance - fit$deviance
  )
}

birthwt <- transform(MASS::birthwt, race = factor(race))
infert <- transform(datasets::infert, spontaneous = factor(spontaneous))
nwtco <- transform(survival::nwtco, stage = factor(stage), histol = histol - 1, years = age / 12)
bacteria <- transform(MASS::bacteria, y = as.integer(y == "y"))

write_golden("terms", list(
  about = "Tests of terms of logits with factors, polynomials and interactions",
  call = "car::Anova(glm, type, test.statistic, vcov. = sandwich::vcovCL(glm, cluster)), anova(glm, test), drop1(glm, test); glm.control(epsilon = 1e-15)",
  versions = versions("car", "sandwich", "MASS", "survival"),
  sets = list(
    birthwt = one_set(low ~ age * race + lwt + smoke * ui, birthwt, birthwt$age, "MASS::birthwt"),
    infert = one_set(case ~ spontaneous + induced + poly(age, 2) + spontaneous:induced, infert, infert$stratum, "datasets::infert"),
    nwtco = one_set(rel ~ histol * stage + years + I(years^2), nwtco, nwtco$age, "survival::nwtco"),
    bacteria = one_set(y ~ trt + week + ap:week, bacteria, bacteria$ID, "MASS::bacteria")
  )
))
