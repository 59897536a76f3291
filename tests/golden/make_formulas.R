# Designs of formulas as people type them in R: model.matrix with its table, to the last digits.
# The table is synthetic: formulas.csv, written here.
source("common.R")
suppressMessages({library(splines); library(rms)})

set.seed(20)
n <- 120
d <- data.frame(
  y = rbinom(n, 1, 0.3),
  s = rbinom(n, 5, 0.4), f = rbinom(n, 5, 0.6),
  x = round(rnorm(n, 50, 12), 1),
  z = signif(rexp(n), 3),
  age = sample(18:80, n, TRUE),
  half = pmax(0, round(rnorm(n, 1, 2), 2)),
  k = sample(1:3, n, TRUE),
  g = sample(c("a", "b", "c"), n, TRUE),
  h = sample(c("left", "right"), n, TRUE),
  time = round(runif(n, 0.5, 4), 2),
  flc.grp = sample(1:4, n, TRUE))
d$f <- d$f + (d$s + d$f == 0)
write.csv(d, "formulas.csv", row.names = FALSE)
d$g <- factor(d$g); d$h <- factor(d$h)
new <- data.frame(x = c(20.5, 47.5, 99), z = c(0.5, 1, 9), age = c(33, 50, 64), half = c(0.5, 1.2, 8), g = c("b", "c", "a"),
                  h = c("right", "left", "right"))
some <- seq(1, n, by = 3)  # rows of the designs that are stored; knots are those of all rows

# right-hand sides; those whose columns of new data are compared too stand first
predicted <- c(
  "ns(x, 3)", "ns(x, df = 4)", "ns(age, 5)", "ns(x, knots = c(40, 50, 60))", "ns(x, df = 3, intercept = TRUE) - 1",
  "ns(x, knots = c(40, 60), Boundary.knots = c(30, 70))", "ns(x)", "ns(z, 4)", "ns(log(z), 3)", "ns(x, 3) * g", "ns(x, 3):z",
  "poly(x, 2)", "poly(x, 3)", "poly(age, degree = 4)", "poly(x, 2, raw = TRUE)", "poly(z, 2) + g", "poly(x, 1)", "poly(log(z), 3)",
  "poly(x, 2):g", "cut(age, c(17, 30, 50, 80))", "cut(age, c(18, 30, 50, 80), include.lowest = TRUE)",
  "cut(age, c(18, 30, 50, 81), right = FALSE)", "cut(x, c(-Inf, 40, 60, Inf))", "cut(age, c(0, 40, 60, 100)) * z")
plain <- c(
  "bs(x, 4)", "bs(x, df = 5)", "bs(x, knots = c(40, 60))", "bs(x, df = 5, degree = 2)", "bs(x, df = 6, intercept = TRUE) - 1", "bs(age, 6)",
  "bs(x, knots = c(40, 60), Boundary.knots = c(0, 120))", "bs(x)", "bs(x, degree = 1, knots = 50)", "bs(x, 4) + g", "bs(log(z), 5)",
  "cut(age, 3)", "cut(x, 4)", "cut(age, c(17, 30, 50, 80), labels = FALSE)", "cut(age, 3):x",
  "factor(k)", "as.factor(k)", "factor(k) * x", "factor(k):factor(g)", "factor(k) - 1", "factor(g, levels = c('c', 'a', 'b'))",
  "relevel(g, 'b')", "relevel(g, ref = 'c')", "relevel(factor(k), ref = '2')", "relevel(factor(k), '3') * x",
  "relevel(factor(flc.grp), ref = '4')",
  "sqrt(z)", "log2(z)", "log10(z)", "abs(x)", "exp(z)", "log(z)", "log1p(z)", "log(z, 2)", "log(z, base = 10)", "sqrt(abs(x - 50))",
  "floor(x)", "sin(x)", "I(x - 50)", "I(x > 50)", "I((x > 50) & (z < 1))", "I(x / z)", "I(x * z)", "I(1 / z)", "I(-x)", "I(x * (g == 'b'))",
  "x", "x + z", "x:z", "x * z", "x * z * age", "(x + z)^2", "(x + z + age)^2", "(x + z + g)^2", "(x + g + h)^3", "x + z - x", "x - 1", "0 + x",
  "x + 0", "-1 + g", "1", "g", "g + h", "g * h", "g:h", "g / h", "g / x", "x * g", "x:g", "g + g:x", "h / (x + z)",
  "g * h - g:h", "(g + h) * x", "(g + h + x)^2 - g:h", "g * h * x", "x * z + x", "g^2", "poly(x, 2) * h",
  ".", ". - x", ". - flc.grp - f - s", "(x + z)^2 - z", "log(time) + x",
  "flc.grp", "factor(flc.grp)", "flc.grp * x", "log(flc.grp)", "I(flc.grp - 1)", "poly(flc.grp, 2)", "cut(flc.grp, c(0, 2, 4))",
  "scale(x)", "scale(x, center = FALSE)", "scale(x, scale = FALSE)", "scale(x, 50, 10)", "scale(age) * g", "scale(log(z))",
  "I(age**10)", "I(age**-1)", "I((x > 50) + (z < 1))", "I((x > 50) * 2 - 1)", "I(-(x > 50))", "x + I(x**2)", "C(g, contr.sum)",
  "x * z + I(x^2)", "factor(g)", "cut(z, c(-Inf, 0.5, 1, Inf))", "bs(z, df = 4)", "bs(z, knots = c(0.5, 1))", "x + offset(z)",
  "offset(log(time)) + x", "x + offset(time)", "x + offset(time) + offset(z)", "g * x + offset(log(time) - 1)")
stored <- function(X) list(shape = dim(X), values = as.vector(X))
one <- function(right, with_new) {
  frame <- model.frame(as.formula(paste("y ~", right)), d)
  t <- attr(frame, "terms")
  out <- list(right = right, X = stored(unname(model.matrix(t, frame))[some, , drop = FALSE]))
  if (!is.null(model.offset(frame))) out$offset <- model.offset(frame)[some]
  if (with_new) {
    rows <- model.frame(delete.response(t), new, xlev = .getXlevels(t, frame))
    out$new <- stored(unname(model.matrix(delete.response(t), rows)))
  }
  out
}
restricted <- list(
  "rcs(x, 3)" = list("x", 3), "rcs(x, 4)" = list("x", 4), "rcs(x)" = list("x", 5), "rcs(age, 5)" = list("age", 5), "rcs(x, 7)" = list("x", 7),
  "rcs(x, c(35, 50, 65))" = list("x", c(35, 50, 65)), "rcs(half, 4)" = list("half", 4), "rcs(half, 5)" = list("half", 5),
  "rcs(half, 3)" = list("half", 3), "rcs(z, 6)" = list("z", 6), "rcs(z, 4)" = list("z", 4))
of_rms <- lapply(names(restricted), function(right) {
  column <- d[[restricted[[right]][[1]]]]; p <- restricted[[right]][[2]]
  knots <- if (length(p) > 1) p else rcspline.eval(column, nk = p, knots.only = TRUE)
  X <- function(v) cbind(1, rcspline.eval(v, knots = knots, inclx = TRUE))
  list(right = right, X = stored(X(column)[some, ]), new = stored(X(new[[restricted[[right]][[1]]]])), knots = as.vector(knots))
})
few <- d$x[1:60]
of_few <- list(right = "rcs(x, 4)", rows = 60, X = stored(cbind(1, rcspline.eval(few, nk = 4, inclx = TRUE))[1:20, ]))
write_golden("formulas", list(
  about = "Designs of formulas: splines, polynomials, intervals, factors, interactions, offsets, of the data and of new rows",
  call = "model.matrix(terms, model.frame(y ~ ..., data)); rcs: cbind(1, Hmisc::rcspline.eval(x, knots, inclx = TRUE)) with its own knots",
  versions = versions("splines", "rms", "Hmisc"),
  some = some - 1, new = as.list(new),
  designs = c(lapply(predicted, one, TRUE), lapply(plain, one, FALSE), of_rms),
  few = of_few
))
