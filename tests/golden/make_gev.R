# GEV links by maximum likelihood and by their canonical loss, at fixed shapes; the shape by maximum likelihood.
# Written from the formulas alone; canonical roots are checked with nleqslv, likelihoods with optim.
source("common.R")

SHAPES <- c(-0.5, -0.2567, -0.1, 0, 0.1, 0.25, 0.5)
GRID <- seq(-1, 2, by = 0.05)

# F = exp(-t), t = (1 + xi v)^(-1/xi): both tails and two derivatives; 0 or 1 outside the support.
gev <- function(xi, v) {
  z <- 1 + xi * v
  inside <- z > 0
  z[!inside] <- 1
  t <- if (xi == 0) exp(-v) else exp(-log1p(xi * v * inside) / xi)
  d <- exp(-t) * t / z
  out <- list(p = exp(-t), q = -expm1(-t), d = d, dd = d * (t - 1 - xi) / z)
  beyond <- as.numeric(xi < 0)
  out$p[!inside] <- beyond
  out$q[!inside] <- 1 - beyond
  out$d[!inside] <- out$dd[!inside] <- 0
  out$outside <- sum(!inside)
  out
}

# "cgev" is the mirrored form, 1 - F(-v).
curve_of <- function(form, xi, v) {
  f <- gev(xi, if (form == "gev") v else -v)
  if (form == "cgev") f <- list(p = f$q, q = f$p, d = f$d, dd = -f$dd, outside = f$outside)
  f
}

value_of <- function(b, xi, form, set) {
  f <- curve_of(form, xi, drop(set$X %*% b))
  sum(log(ifelse(set$y == 1, f$p, f$q)))
}

score_of <- function(b, xi, form, set) {
  f <- curve_of(form, xi, drop(set$X %*% b))
  drop(crossprod(set$X, ifelse(set$y == 1, f$d / f$p, -f$d / f$q)))
}

curvature <- function(b, xi, form, set) {
  f <- curve_of(form, xi, drop(set$X %*% b))
  expected <- ifelse(f$d > 0, f$d^2 / (f$p * f$q), 0)
  observed <- ifelse(set$y == 1, (f$d / f$p)^2 - f$dd / f$p, f$dd / f$q + (f$d / f$q)^2)
  observed[f$d == 0] <- 0
  list(expected = crossprod(set$X, expected * set$X), observed = crossprod(set$X, observed * set$X), fitted = f$p, outside = f$outside)
}

null_start <- function(form, xi, set) {
  rate <- mean(set$y)
  t <- -log(if (form == "gev") rate else 1 - rate)
  v <- if (xi == 0) -log(t) else (t^-xi - 1) / xi
  c(if (form == "gev") v else -v, numeric(ncol(set$X) - 1))
}

# Scoring with halved steps, then Newton's steps with the observed information.
maximise <- function(form, xi, set, b = null_start(form, xi, set)) {
  value <- value_of(b, xi, form, set)
  for (i in 1:2000) {
    k <- curvature(b, xi, form, set)
    steady <- i > 20 && min(eigen(cov2cor(k$observed + diag(1e-300, nrow(k$observed))), only.values = TRUE)$values) > 0
    step <- solve(if (steady) k$observed else k$expected, score_of(b, xi, form, set))
    repeat {
      new <- value_of(b + step, xi, form, set)
      if (is.finite(new) && new >= value - 1e-12 * abs(value)) break
      step <- step / 2
    }
    b <- b + step
    value <- new
    if (max(abs(step) / (abs(b) + 1e-3)) < 1e-15) break
  }
  setNames(b, colnames(set$X))
}

likelihood_fit <- function(form, xi, set) {
  b <- maximise(form, xi, set)
  k <- curvature(b, xi, form, set)
  value <- value_of(b, xi, form, set)
  unit <- sqrt(diag(k$expected))
  other <- optim(b * unit, function(s) -value_of(s / unit, xi, form, set), function(s) -score_of(s / unit, xi, form, set) / unit,
                 method = "BFGS", control = list(reltol = 1e-15))
  stopifnot(-other$value < value + 1e-8)
  V <- solve(k$expected)
  list(xi = xi, coef = named(b), se_expected = named(errors(V), names(b)), vcov_expected = unname(V), vcov_observed = unname(solve(k$observed)),
       loglik = value, deviance = -2 * value, fitted = first_rows(k$fitted), n_outside = k$outside,
       max_abs_score = max(abs(score_of(b, xi, form, set)) / unit))
}

canonical_fit <- function(form, xi, set) {
  equation <- function(b) drop(crossprod(set$X, set$y - curve_of(form, xi, drop(set$X %*% b))$p))
  slopes <- function(b) crossprod(set$X, curve_of(form, xi, drop(set$X %*% b))$d * set$X)
  integral <- function(v) vapply(v, function(end) {
    if (end == 0) 0 else integrate(function(s) curve_of(form, xi, s)$p, 0, end, rel.tol = 1e-11, subdivisions = 1000)$value
  }, 0)
  loss <- function(b) { v <- drop(set$X %*% b); sum(integral(v) - set$y * v) }
  b <- null_start(form, xi, set)
  size <- function(b) sum(equation(b) * drop(solve(slopes(b), equation(b))))
  for (i in 1:500) {
    step <- solve(slopes(b), equation(b))
    repeat { # the equation is the gradient of a convex loss: its slope along the step may not change sign by much
      along <- sum(equation(b + step) * step)
      if (is.finite(along) && along > -0.9 * sum(equation(b) * step)) break
      step <- step / 2
    }
    b <- b + step
    if (max(abs(step) / (abs(b) + 1e-3)) < 1e-15) break
  }
  names(b) <- colnames(set$X)
  unit <- sqrt(diag(slopes(b)))
  other <- nleqslv::nleqslv(b * unit * 1.001, function(s) equation(s / unit) / unit, method = "Newton", control = list(ftol = 1e-12, maxit = 500))
  stopifnot(max(abs(other$x / unit - b) * unit) < 1e-9)
  v <- drop(set$X %*% b)
  f <- curve_of(form, xi, v)
  A <- solve(slopes(b))
  covariance <- function(w) A %*% crossprod(set$X, w * set$X) %*% A
  model <- covariance(f$p * f$q)
  list(xi = xi, form = form, coef = named(b), se_model = named(errors(model), names(b)), vcov_naive = unname(A), vcov_model = unname(model),
       vcov_robust = unname(covariance((set$y - f$p)^2)), loss = loss(b), fitted = first_rows(f$p), n_outside = f$outside,
       max_abs_equation = max(abs(equation(b)) / unit))
}

# The derivative of the log likelihood in a shape other than 0: log t = -log(1 + xi v) / xi.
shape_score <- function(b, xi, form, set) {
  v <- drop(set$X %*% b)
  v <- if (form == "gev") v else -v
  f <- gev(xi, v)
  v[1 + xi * v <= 0] <- 0 # outside the support nothing depends on the shape
  slope <- f$p * log(f$p) * (log1p(xi * v) / xi^2 - v / (xi * (1 + xi * v)))
  events <- if (form == "gev") set$y == 1 else set$y == 0
  sum(ifelse(v == 0, 0, ifelse(events, slope / f$p, -slope / f$q)))
}

# The shape that maximises the profile likelihood, its profile limits, and the covariance of all parameters.
joint_fit <- function(form, set) {
  profile <- function(xi) value_of(maximise(form, xi, set), xi, form, set)
  on_grid <- vapply(GRID, profile, 0)
  top <- which.max(on_grid)
  out <- list(profile = list(xi = round(GRID, 2), loglik = on_grid))
  if (top %in% c(1, length(GRID))) return(c(out, list(joint_ml = NULL)))
  xi <- optimize(profile, GRID[top + c(-1, 1)], maximum = TRUE, tol = 1e-9)$maximum
  # the slope of the profile is the derivative in xi at the maximum over the coefficients: its root is sharper than the maximum
  xi <- uniroot(function(s) shape_score(maximise(form, s, set), s, form, set), xi + c(-0.01, 0.01), tol = 1e-14)$root
  b <- maximise(form, xi, set)
  both <- function(theta) {
    k <- length(theta)
    c(score_of(theta[-k], theta[k], form, set), shape_score(theta[-k], theta[k], form, set))
  }
  V <- solve(-numDeriv::jacobian(both, c(b, xi)))
  best <- profile(xi)
  left <- function(s) qchisq(0.95, 1) - 2 * (best - profile(s))
  c(out, list(joint_ml = list(xi = xi, coef = named(b), loglik = best, vcov_observed = unname((V + t(V)) / 2),
                              xi_lower = crossing(left, xi, -0.2), xi_upper = crossing(left, xi, 0.2))))
}

case <- function(name) {
  set <- golden_set(name)
  each <- function(f) sapply(c("gev", "cgev"), f, simplify = FALSE)
  fits <- function(kind) each(function(form) sapply(as.character(SHAPES), function(xi) kind(form, as.numeric(xi), set), simplify = FALSE))
  list(provenance = provenance(set), log = fits(likelihood_fit), canonical = fits(canonical_fit),
       shape = if (name == "rare") each(function(form) joint_fit(form, set)))
}

write_golden("gev", list(
  about = "GEV links, p = exp(-(1 + xi v)^(-1/xi)), and their mirrored form cgev, by maximum likelihood and by the canonical loss",
  call = paste("base R, from the formulas; log: roots of the score, compared with optim(method = 'BFGS');",
               "canonical: roots of sum x (y - F(x'b)) = 0, compared with nleqslv, loss = sum of the integral of F from 0 to v minus y v;",
               "shape: root of the derivative of the profile likelihood; vectors over rows: the first 20"),
  versions = versions("nleqslv", "numDeriv", "MASS"),
  cases = sapply(c("birthwt", "rare"), case, simplify = FALSE)
))
