# Samples drawn as NHANES and as the schools of California (apistrat, apiclus1) were: svyglm, svypredmeans and its two parts, and the linearised
# variances of calibration and discrimination. The rows are synthetic, and written beside the numbers.
source("common.R")
source("survey_fits.R")
set.seed(24)

# -- 15 strata of 2 or 3 units with the same labels in each, unequal weights, outcomes missing for some ------------

health <- function() {
  units <- c(rep(2, 13), 3, 3)
  frame <- data.frame(stratum = rep(75:89, units), psu = unlist(lapply(units, seq_len)))
  frame$effect <- rnorm(nrow(frame), sd = 0.4)
  d <- frame[rep(seq_len(nrow(frame)), 18 + rpois(nrow(frame), 8)), ]
  n <- nrow(d)
  d$race <- sample(4, n, TRUE, c(0.2, 0.4, 0.3, 0.1))
  d$sex <- sample(2, n, TRUE)
  d$age <- sample(c("(0,19]", "(19,39]", "(39,59]", "(59,Inf]"), n, TRUE)
  d$weight <- round(exp(rnorm(n, 10, 0.6)), 2)
  risk <- plogis(-2.6 + 0.7 * (d$age > "(19,39]") + 0.3 * (d$sex == 2) - 0.3 * (d$race == 3) + d$effect)
  d$high <- as.integer(runif(n) < risk)
  d$high[runif(n) < 0.08] <- NA
  d$predicted <- round(plogis(-2.3 + 0.5 * (d$age > "(19,39]") + rnorm(n, sd = 0.4)), 3)
  rownames(d) <- NULL
  d[setdiff(names(d), "effect")]
}

# -- all schools of 15 of 757 districts, of 1 to 35 schools; and schools in three strata of known sizes ------------

districts <- function() {
  sizes <- c(1, 1, 2, 3, 4, 6, 8, 10, 11, 13, 16, 21, 25, 31, 35)
  d <- data.frame(district = rep(sample(757, 15), sizes), effect = rep(rnorm(15, sd = 0.3), sizes))
  d$meals <- pmin(100, round(100 * rbeta(nrow(d), 1.2, 1.3)))
  d$mobility <- 5 + rpois(nrow(d), 12)
  d$pw <- 33.847
  d$fpc <- 757
  d$met <- as.integer(runif(nrow(d)) < plogis(2.3 - 0.012 * d$meals + d$effect))
  d[setdiff(names(d), "effect")]
}

schools <- function() {
  d <- data.frame(type = rep(c("E", "H", "M"), c(100, 50, 50)), fpc = rep(c(4421, 755, 1018), c(100, 50, 50)))
  d$pw <- round(d$fpc / rep(c(100, 50, 50), c(100, 50, 50)), 3)
  d$meals <- pmin(100, round(100 * rbeta(200, 1.2, 1.3)))
  d$ell <- pmin(100, rpois(200, 20))
  d$met <- as.integer(runif(200) < plogis(2.4 - 0.8 * (d$type == "H") - 0.01 * d$meals))
  d
}

# -- calibration and discrimination of predictions p, by svyglm and by influences that are added up pair by pair ---

assessed <- function(design, outcome, p) {
  design <- update(design, .y = as.numeric(outcome), .p = p, .eta = qlogis(p))
  both <- fit_to(.y ~ .eta, design)
  large <- fit_to(.y ~ offset(.eta), design)
  v <- design$variables
  w <- weights(design)
  y <- v$.y; w[is.na(y)] <- 0; y[is.na(y)] <- 0
  event <- w * y / sum(w * y)
  other <- w * (1 - y) / sum(w * (1 - y))
  wins <- outer(v$.p, v$.p, function(a, b) (a > b) + 0.5 * (a == b))
  area <- drop(event %*% wins %*% other)
  influence <- event * (drop(wins %*% other) - area) + other * (drop(event %*% wins) - area)
  brier <- svymean(~I((.y - .p)^2), design, na.rm = TRUE)
  ratio <- svyratio(~.y, ~I(.p * !is.na(.y)), design, na.rm = TRUE)
  list(slope_model = list(params = unname(coef(both)), cov = unname(vcov(both))),
       in_the_large = list(value = unname(coef(large)), se = unname(SE(large))),
       brier = list(value = unname(coef(brier)), se = unname(drop(SE(brier)))),
       ratio = list(value = unname(drop(coef(ratio))), se = unname(drop(SE(ratio)))),
       auc = list(value = area, se = sqrt(drop(svyrecvar(matrix(influence), design$cluster, design$strata, design$fpc, postStrata = NULL)))))
}

# the joint variance of the same means: svyrecvar of influences on coefficients and covariates together
joint_means <- function(formula, design, values) {
  m <- fit_to(formula, design)
  w <- weights(design)
  X <- model.matrix(m)
  p <- fitted(m)
  of_params <- (w * (m$y - p)) * (X %*% solve(crossprod(X, w * p * (1 - p) * X)))
  parts <- sapply(values, function(value) {
    Z <- X
    Z[, "group"] <- value
    risk <- plogis(drop(Z %*% coef(m)))
    average <- sum(w * risk) / sum(w)
    c(average, w * (risk - average) / sum(w) + drop(of_params %*% (colSums(w * risk * (1 - risk) * Z) / sum(w))))
  })
  list(means = parts[1, ], cov = unname(svyrecvar(parts[-1, ], design$cluster, design$strata, design$fpc, postStrata = NULL)))
}

domain_limits <- function(design) {
  m <- fit_to(high ~ 1, design)
  share <- svymean(~high, design)
  ci <- function(method) unname(c(attr(svyciprop(~high, design, method = method), "ci")))
  list(share = unname(coef(share)), se = unname(drop(SE(share))), df = degf(design), mean = ci("mean"), logit = ci("logit"),
       glm = unname(confint(fit_to(high ~ age, design))), normal = unname(c(confint(share))))
}

# the same indices with each of the replicates of the weights, as withReplicates has it
replicated <- function(design) {
  assessed <- function(w, d) {
    eta <- qlogis(d$predicted)
    refitted <- function(X, offset) {
      m <- NULL
      for (i in 1:6) m <- suppressWarnings(glm.fit(X, d$high, w / mean(w), offset = offset, family = quasibinomial(), control = exact, start = m$coefficients))
      m$coefficients
    }
    event <- w * d$high / sum(w * d$high)
    other <- w * (1 - d$high) / sum(w * (1 - d$high))
    wins <- outer(d$predicted, d$predicted, function(a, b) (a > b) + 0.5 * (a == b))
    rate <- sum(w * d$high) / sum(w)
    brier <- sum(w * (d$high - d$predicted)^2) / sum(w)
    loss <- -ifelse(d$high == 1, log(d$predicted), log1p(-d$predicted))
    c(refitted(cbind(1, eta), 0 * eta), refitted(cbind(0 * eta + 1), eta), brier, 1 - brier / (rate * (1 - rate)), sum(w * loss) / sum(w),
      rate / (sum(w * d$predicted) / sum(w)), drop(event %*% wins %*% other))
  }
  found <- withReplicates(design, assessed)
  list(value = unname(c(found)), cov = unname(matrix(c(vcov(found)), length(c(found)))), df = degf(design))
}

people <- health()
people$race <- factor(people$race); people$sex <- factor(people$sex)
national <- svydesign(~psu, strata = ~stratum, weights = ~weight, nest = TRUE, data = people)
by_type <- schools()
by_district <- districts()
stratified <- svydesign(~1, strata = ~type, weights = ~pw, fpc = ~fpc, data = by_type)
clustered <- svydesign(~district, weights = ~pw, fpc = ~fpc, data = by_district)
told <- update(subset(national, !is.na(high)), group = as.integer(sex == 2))
poor <- update(clustered, group = as.integer(mobility > 17))

write.csv(people, "survey_people.csv", row.names = FALSE)
write.csv(by_type, "survey_schools.csv", row.names = FALSE)
write.csv(by_district, "survey_districts.csv", row.names = FALSE)
write_golden("survey_like", list(
  about = "Samples drawn as NHANES and as the schools of the package survey were: svyglm, svypredmeans, calibration and discrimination",
  call = "svyglm(..., family = quasibinomial) refitted from its own estimates until they do not move; svypredmeans; svyrecvar of influences",
  versions = versions("survey"),
  people = c(of(fit_to(high ~ race + age + sex, national)), list(women = of(fit_to(high ~ race + age, subset(national, sex == 2))))),
  schools = of(fit_to(met ~ meals + ell, stratified)),
  districts = of(fit_to(met ~ meals + mobility, clustered)),
  means = list(
    people = c(predicted_means(high ~ race + age, told, ~group, c(0, 1)), list(joint = joint_means(high ~ race + age + group, told, c(0, 1)))),
    districts = c(predicted_means(met ~ meals, poor, ~group, c(0, 1)), list(joint = joint_means(met ~ meals + group, poor, c(0, 1))))),
  calibration = list(
    people = assessed(national, people$high, people$predicted),
    women = assessed(subset(national, sex == 2), people$high[people$sex == 2], people$predicted[people$sex == 2]),
    schools = assessed(stratified, by_type$met, plogis(2 - 0.012 * by_type$meals)),
    districts = assessed(clustered, by_district$met, plogis(2 - 0.012 * by_district$meals))),
  replicated = list(
    JKn = replicated(as.svrepdesign(subset(national, !is.na(high)), type = "JKn")),
    mse = replicated(as.svrepdesign(subset(national, !is.na(high)), type = "JKn", mse = TRUE))),
  # svyciprop of a domain, and confint of svyglm and svymean, whose degrees of freedom by default are those of the residuals, and infinite
  domain = domain_limits(subset(national, sex == 2 & !is.na(high)))
))
