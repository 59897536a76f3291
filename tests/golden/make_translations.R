# The R code in the tables of docs/from_r.md, run on one synthetic table: translations.csv, written here. The formulas of that page are in
# make_formulas.R. Packages outside Debian are replaced by their definitions, below; what is random has a seed.
source("common.R")
suppressPackageStartupMessages({library(sandwich); library(survey); library(rms); library(brglm2); library(Zelig)})

pdf(NULL) # val.prob draws

set.seed(40)
n <- 400
d <- data.frame(x = rbinom(n, 1, 0.4), z = round(rnorm(n), 2))
d$y <- rbinom(n, 1, plogis(-1.8 + 0.8 * d$x + 0.6 * d$z))
d$s <- rbinom(n, 4, plogis(-1 + 0.5 * d$x))
d$f <- 4 - d$s
d$o <- round(rnorm(n, 0, 0.3), 2)
d$w <- sample(1:3, n, TRUE)
d$id <- (seq_len(n) - 1) %% 40
d$year <- (seq_len(n) - 1) %% 7
write.csv(d, "translations.csv", row.names = FALSE)
judged <- read.csv("calibration.csv")
y <- judged$y; p <- judged$p

m <- large <- glm(y ~ x + z, binomial, d, epsilon = 1e-13, maxit = 200)
small <- glm(y ~ x, binomial, d, epsilon = 1e-13, maxit = 200)
new <- head(d, 3)
f <- lrm(y ~ x + z, d, x = TRUE, y = TRUE, tol = 1e-14, eps = 1e-14)
relogit <- function(...) suppressWarnings(do.call(Zelig::relogit, c(list(...), list(control = glm.control(1e-14, 100)))))

# -- packages outside Debian, from their definitions ------------------------------------------

design <- model.matrix(m)
probability <- function(b) plogis(drop(design %*% b))
# maximum of the likelihood times a power of the determinant of the information (Firth: 1/2)
jeffreys <- function(power = 0.5, free = 1:3) {
  value <- function(b, X) { q <- plogis(drop(X %*% b)); sum(ifelse(d$y == 1, log(q), log1p(-q))) +
      power * as.numeric(determinant(crossprod(design, q * (1 - q) * design))$modulus) }
  full <- function(b) replace(numeric(3), free, b)
  b <- numeric(length(free))
  for (i in 1:50) { # Newton steps on numerical derivatives of the penalised likelihood
    step <- solve(numDeriv::hessian(function(b) value(full(b), design), b), numDeriv::grad(function(b) value(full(b), design), b))
    b <- b - step
    if (max(abs(step)) < 1e-10) break
  }
  list(coefficients = full(b), value = value(full(b), design))
}
logistf.mod.control <- function(tau) tau
logistf <- function(formula, data, pl = TRUE, modcontrol = 0.5) structure(list(fit = jeffreys(modcontrol)), class = "by_definition")
coef.by_definition <- function(object, ...) object$fit$coefficients
confint.by_definition <- function(object, ...) {
  value <- function(b) { q <- probability(b); sum(ifelse(d$y == 1, log(q), log1p(-q))) +
      0.5 * as.numeric(determinant(crossprod(design, q * (1 - q) * design))$modulus) }
  ratio <- function(at, j) {
    rest <- optim(object$fit$coefficients[-j], function(b) -value(append(b, at, j - 1)), method = "BFGS", control = list(reltol = 1e-15))
    qchisq(0.95, 1) - 2 * (object$fit$value + rest$value)
  }
  t(sapply(1:3, function(j) sapply(c(-1, 1), function(side) crossing(function(at) ratio(at, j), object$fit$coefficients[j], 0.2 * side, 1e-9))))
}
logistftest <- function(object, test) { stat <- 2 * (object$fit$value - jeffreys(free = 1)$value); c(stat, pchisq(stat, 2, lower.tail = FALSE)) }
flic <- function(object) { b <- coef(object); rest <- drop(design[, -1] %*% b[-1]); b[1] <- coef(glm(d$y ~ offset(rest), family = binomial, epsilon = 1e-13)); b }
flac <- function(object, data) {
  q <- probability(coef(object)); h <- hatvalues_at(q)
  rows <- rbind(design, design, design)
  coef(suppressWarnings(glm(c(d$y, rep(1, n), rep(0, n)) ~ rows[, -1] + rep(0:1, c(n, 2 * n)), family = binomial, weights = c(rep(1, n), h / 2, h / 2), epsilon = 1e-13, maxit = 200)))[1:3]
}
hatvalues_at <- function(q) q * (1 - q) * rowSums((design %*% solve(crossprod(design, q * (1 - q) * design))) * design)
detect_separation <- function(x, y, ...) list(outcome = max(abs(coef(suppressWarnings(stats::glm(y ~ x - 1, family = binomial))))) > 20)
gev_loglik <- function(b, xi) { inside <- pmax(1 + xi * drop(design %*% b), 0); q <- exp(-inside^(-1 / xi))
  sum(ifelse(d$y == 1, log(q), log1p(-q))) }
bgeva <- function(formula, data, tau) {
  start <- optim(c(-0.5, 0, 0), function(b) { v <- -gev_loglik(b, tau); if (is.finite(v)) v else 1e9 }, control = list(maxit = 5000, reltol = 1e-14))$par
  for (i in 1:50) { step <- solve(numDeriv::hessian(gev_loglik, start, xi = tau), numDeriv::grad(gev_loglik, start, xi = tau)); start <- start - step }
  start
}
gev <- NULL
glmx <- function(formula, data, family) {
  shape <- optimize(function(xi) gev_loglik(bgeva(formula, data, xi), xi), c(-0.9, 0.9), maximum = TRUE, tol = 1e-9)$maximum
  c(bgeva(formula, data, shape), shape)
}
at <- function(value) predict(m, transform(d, x = value), type = "response")
# a mean of predictions, a function of the coefficients, and the delta method
delta <- function(g) { J <- numDeriv::jacobian(g, coef(m)); c(g(coef(m)), sqrt(diag(J %*% vcov(m) %*% t(J)))) }
risk_at <- function(b, value) mean(plogis(b[1] + b[2] * value + b[3] * d$z))
avg_comparisons <- function(m, variables, comparison = "difference") delta(function(b)
  if (comparison == "difference") risk_at(b, 1) - risk_at(b, 0) else risk_at(b, 1) / risk_at(b, 0))
stdGlm <- function(m, d, X) { # M-estimation; the package divides by n - 1
  scores <- design * (d$y - fitted(m))
  bread <- solve(crossprod(design, fitted(m) * (1 - fitted(m)) * design))
  J <- numDeriv::jacobian(function(b) c(risk_at(b, 0), risk_at(b, 1)), coef(m))
  influence <- sweep(cbind(at(0), at(1)), 2, c(mean(at(0)), mean(at(1)))) / n + scores %*% bread %*% t(J)
  c(mean(at(0)), mean(at(1)), sqrt(colSums(influence^2)))
}
AFglm <- function(m, d, exposure) 1 - mean(at(0)) / mean(d$y)
dca <- function(formula, data, thresholds) mean(p >= thresholds & y == 1) - mean(p >= thresholds & y == 0) * thresholds / (1 - thresholds)
STORED <- c("val.prob.ci.2(p, y)", "reliabilitydiag(p, y = y)", "givitiCalibrationBelt(y, p, \"external\")")

# -- the page ---------------------------------------------------------------------------------

numbers <- function(v) {
  if (inherits(v, "by_definition")) return(coef(v))
  if (inherits(v, "anova")) return(c(stats::na.omit(v[[intersect(c("LRT", "Deviance"), names(v))[1]]]), stats::na.omit(v[["Pr(>Chi)"]])))
  if (inherits(v, "summary.glm")) return(as.vector(v$coefficients))
  if (inherits(v, "validate")) return(c(v["Slope", "index.corrected"], v["B", "index.corrected"]))
  if (inherits(v, "svystat")) return(c(coef(v)[order(names(coef(v)))], SE(v)[order(names(coef(v)))]))
  if (inherits(v, "lrm") && length(v$penalty)) return(coef(v)) # its standard errors are other ones
  if (inherits(v, c("glm", "lrm"))) return(c(coef(v), sqrt(diag(vcov(v)))))
  if (is.list(v) && !is.null(v$se.fit)) return(c(v$fit, v$se.fit))
  as.vector(unlist(v))
}
page <- readLines("../../docs/from_r.md")
section <- cumsum(grepl("^## ", page))
formulas <- section == section[which(page == "## Formulas")]
rows <- grep("^\\| `", page[!formulas], value = TRUE)
codes <- sub("^\\| `([^`]+)`.*", "\\1", rows)
one <- function(code) {
  set.seed(1)
  out <- list(code = code)
  if (!code %in% STORED) {
    text <- sub("(...,", "(y ~ x + z, binomial, d,", code, fixed = TRUE)
    # to the last digits
    text <- sub("^(glm)\\((.*)\\)$", "\\1(\\2, epsilon = 1e-13, maxit = 200)", text)
    text <- sub("^(svyglm)\\((.*)\\)$", "\\1(\\2, control = glm.control(1e-14, 100))", text)
    text <- sub("^(lrm)\\((.*)\\)$", "\\1(\\2, tol = 1e-14, eps = 1e-10, maxit = 100)", text)
    if (grepl("detect_separation", text)) text <- "detect_separation(design, d$y)$outcome"
    out$numbers <- unname(numbers(eval(parse(text = text))))
  }
  out
}
write_golden("translations", list(
  about = "The R code of docs/from_r.md, run: coefficients and standard errors of models, and numbers of the rest",
  call = paste("each code, as it stands on the page; logistf, detectseparation, bgeva, glmx, marginaleffects, stdReg, AF and dcurves from their definitions.",
               "Codes without numbers are of packages whose numbers are in calibration_packages.json"),
  versions = versions("sandwich", "survey", "rms", "brglm2", "Zelig"),
  rows = lapply(codes, one)
))
