# Interaction of two exposures on the additive scale (epiR), DeLong's paired test (pROC).
source("common.R")
suppressPackageStartupMessages({library(epiR); library(pROC)})

CONTROL <- glm.control(epsilon = 1e-15, maxit = 100)

interaction_set <- function(formula, data, coef) {
  fit <- do.call(glm, list(formula, binomial(), data, control = CONTROL))
  found <- epi.interaction(fit, coef = coef, param = "product")
  c(list(formula = deparse1(formula)), lapply(found[c("reri", "apab", "s")], function(x) as.list(x)))
}

delong <- function(y, p, q) {
  test <- roc.test(roc(y, p, direction = "<", quiet = TRUE), roc(y, q, direction = "<", quiet = TRUE), paired = TRUE, method = "delong")
  limits <- test$conf.int
  list(auc = as.numeric(test$estimate), z = unname(test$statistic), pvalue = test$p.value, limits = as.numeric(limits))
}

birthwt <- transform(MASS::birthwt, heavy = as.integer(lwt < 110))
first <- glm(low ~ age + lwt + smoke, binomial(), birthwt, control = CONTROL)
second <- glm(low ~ ht + ui, binomial(), birthwt, control = CONTROL)

write_golden("effects", list(
  about = "RERI, attributable proportion and synergy index; DeLong's paired test of two areas under the ROC curve",
  call = "epiR::epi.interaction(glm, coef, param = 'product'); pROC::roc.test(paired = TRUE, method = 'delong')",
  versions = versions("epiR", "pROC", "MASS"),
  interaction = list(
    plain = interaction_set(low ~ smoke * heavy, birthwt, c(2, 3, 4)),
    adjusted = interaction_set(low ~ smoke * heavy + age + ht, birthwt, c(2, 3, 6))
  ),
  delong = list(
    models = delong(birthwt$low, fitted(first), fitted(second)),
    columns = delong(birthwt$low, -birthwt$lwt, birthwt$ptl)
  )
))
