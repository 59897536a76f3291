# Optimism of a logit of repeated measures by the bootstrap of patients and of rows, and its slope by cross-validation that keeps patients
# together. The data are geepack's; where the package is not installed, RESPIRATORY_CSV names a file with its table `respiratory`.
source("common.R")
suppressPackageStartupMessages(library(rms))

d <- if (requireNamespace("geepack", quietly = TRUE)) {
  data("respiratory", package = "geepack", envir = environment())
  respiratory
} else {
  read.csv(Sys.getenv("RESPIRATORY_CSV"), stringsAsFactors = TRUE)
}
d$patient <- interaction(d$center, d$id, drop = TRUE)
d$second <- as.numeric(d$center == 2)
d$active <- as.numeric(d$treat == "A")
d$male <- as.numeric(d$sex == "M")
for (power in 1:3) d[[paste0("a", power)]] <- ((d$age - 33) / 13)^power
formula <- outcome ~ active * second + male + active * baseline + a1 + a2 + a3
model <- lrm(formula, data = d, x = TRUE, y = TRUE)

corrected <- function(B, ...) {
  set.seed(1)
  found <- validate(model, B = B, ...)
  list(resamples = B, slope = found["Slope", "index.corrected"], auc = 0.5 + found["Dxy", "index.corrected"] / 2,
       brier = found["B", "index.corrected"])
}

X <- model.matrix(formula, d)
held_out <- function(groups, folds) { # slope and AUC of the predictions for rows held out with all of their group
  fold <- sample(rep_len(seq_len(folds), nlevels(groups)))[as.integer(groups)]
  v <- numeric(nrow(d))
  for (k in seq_len(folds)) {
    b <- suppressWarnings(glm.fit(X[fold != k, ], d$outcome[fold != k], family = binomial()))$coefficients
    v[fold == k] <- X[fold == k, ] %*% b
  }
  c(slope = unname(coef(glm(d$outcome ~ v, family = binomial()))[2]), auc = unname(somers2(v, d$outcome)["C"]))
}
cross_validated <- function(groups, repeats) {
  set.seed(2)
  drawn <- replicate(repeats, held_out(groups, 10))
  list(repeats = repeats, slope = mean(drawn["slope", ]), slope_sd = sd(drawn["slope", ]), auc = mean(drawn["auc", ]), auc_sd = sd(drawn["auc", ]))
}

write_golden("validate", list(
  about = "Validation of a logit of geepack's respiratory, 111 patients with 4 visits each",
  call = "rms::validate(lrm, B = 2000), without and with cluster = patient; glm on 10 folds of rows and of patients",
  versions = versions("rms"), formula = paste(deparse(formula, 200), collapse = " "),
  coefficients = as.list(setNames(unname(coef(model)), NULL)),
  bootstrap = list(rows = corrected(2000), patients = corrected(2000, cluster = d$patient)),
  cross_validation = list(rows = cross_validated(factor(seq_len(nrow(d))), 100), patients = cross_validated(d$patient, 200))
))
