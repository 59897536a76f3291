# A national health survey: NHANES II as the Python package samplics carries it (datasets/data/nhanes2.csv), a file that NHANES2_CSV names.
source("common.R")
suppressPackageStartupMessages(library(survey))

path <- Sys.getenv("NHANES2_CSV")
if (path == "") {
  message("NHANES2_CSV does not name the file of samplics: national.json stays as it is")
  quit(status = 0)
}
d <- read.csv(path)
d$race <- factor(d$race)
d$region <- factor(d$region)
exact <- glm.control(epsilon = 1e-15, maxit = 100)
of <- function(m) list(params = unname(coef(m)), cov = unname(vcov(m)), df = m$df.residual)

whole <- svydesign(~psuid, strata = ~stratid, weights = ~finalwgt, nest = TRUE, data = d)
formula <- diabetes ~ race + region + highbp
refitted <- function(formula, design, ...) {
  first <- svyglm(formula, design, family = quasibinomial, control = exact, ...)
  do.call(svyglm, list(formula, design = design, family = quasibinomial, control = exact, start = coef(first)))
}
write_golden("national", list(
  about = "NHANES II: diabetes, by linearisation, in a domain, and by the jackknife",
  call = "svyglm(diabetes ~ race + region + highbp, svydesign(~psuid, strata = ~stratid, weights = ~finalwgt, nest = TRUE), quasibinomial), to convergence",
  versions = versions("survey"),
  source = "samplics 0.6.1, nhanes2.csv", rows = nrow(d),
  whole = of(refitted(formula, whole)),
  domain = of(refitted(diabetes ~ region + highbp, subset(whole, race == 2))),
  JKn = of(refitted(formula, as.svrepdesign(whole, type = "JKn")))
))
