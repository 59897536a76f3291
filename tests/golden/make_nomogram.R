# Points of rms::nomogram for logits of numbers, factors, restricted cubic splines and an interaction with a factor.
# The table is synthetic: nomogram.csv, written here.
source("common.R")
suppressMessages(library(rms))

set.seed(25)
n <- 600
d <- data.frame(
  age = round(runif(n, 21, 84), 1), pressure = round(rnorm(n, 131, 17)), visits = sample(0:4, n, TRUE),
  stage = sample(c("early", "late", "middle"), n, TRUE), smoker = sample(c("no", "yes"), n, TRUE))
v <- with(d, -4 + 0.04 * age + 0.012 * (pressure - 130) - 0.2 * visits + 0.9 * (stage == "late") + (smoker == "yes") * (age - 50) / 40)
d$y <- rbinom(n, 1, plogis(v))
write.csv(d, "nomogram.csv", row.names = FALSE)
d$stage <- factor(d$stage); d$smoker <- factor(d$smoker)
dd <- datadist(d); options(datadist = "dd")

one <- function(right, ours = right) {
  fit <- lrm(as.formula(paste("y ~", right)), d, eps = 1e-14, tol = 1e-14, maxit = 100)
  drawn <- nomogram(fit)
  axes <- drawn[!names(drawn) %in% c("total.points", "lp")]
  info <- attr(drawn, "info")
  list(formula = ours, axes = lapply(unname(axes), function(axis) list(
         variable = names(axis)[1], values = axis[[1]], points = unname(axis$points),
         given = as.list(axis[setdiff(names(axis)[-1], c("Xbeta", "points"))]))),
       total = drawn$total.points$x, linear = drawn$lp$x.real, linear_points = unname(drawn$lp$x),
       intercept = unname(info$Intercept), scale = unname(info$sc))
}

write_golden("nomogram", list(
  about = "Points of nomograms of logits of nomogram.csv",
  call = "rms::nomogram(lrm(formula))", versions = versions("rms"),
  models = list(
    one("age + pressure + stage"),
    one("rcs(age, 4) + visits + stage + smoker"),
    one("rcs(pressure, 5) + stage * age + visits"),
    one("age * smoker * stage + pressure"),
    one("stage * smoker + rcs(age, 3)"))
))
