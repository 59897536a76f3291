# Cluster-robust covariances for few clusters: clubSandwich::vcovCR, CR0 to CR3; coef_test by Satterthwaite, Wald_test by HTZ, and linear_contrast by
# Satterthwaite of the gradients of quantities that are derived from the coefficients.
source("common.R")
suppressPackageStartupMessages(library(clubSandwich))

# glm from its own estimates until nothing moves: vcovCR takes the weights of the last step.
settled <- function(set, link, start) {
  frame <- set$frame
  repeat {
    fit <- suppressWarnings(glm(set$formula, binomial(link), frame, start = start, control = glm.control(epsilon = 1e-16, maxit = 2)))
    if (max(abs(coef(fit) - start) / (abs(start) + 1e-3)) < 1e-13) return(fit)
    start <- coef(fit)
  }
}

tests <- function(fit, V) {
  of_each <- coef_test(fit, vcov = V, test = "Satterthwaite")
  all_slopes <- Wald_test(fit, constrain_zero(2:length(coef(fit))), vcov = V, test = "HTZ")
  last_two <- Wald_test(fit, constrain_equal(length(coef(fit)) - 1:0), vcov = V, test = "HTZ")
  joint <- function(test) list(F = test$Fstat, df = test$df_denom, p = test$p_val)
  list(df = of_each$df, p = of_each$p_Satt, slopes = joint(all_slopes), equal = joint(last_two))
}

# values and gradients: risks with a column set to 0 and to 1, their difference and the logarithm of their ratio, the average slope of the second column,
# and the linear predictor of the first row
derived <- function(set, link, b, column) {
  at <- function(value) {
    Z <- set$X
    Z[, column] <- value
    f <- distribution(link, drop(Z %*% b))
    list(value = mean(f$p), gradient = colMeans(f$d * Z))
  }
  off <- at(0)
  on <- at(1)
  f <- distribution(link, drop(set$X %*% b))
  slope <- b[2] * colMeans(f$dd * set$X)
  slope[2] <- slope[2] + mean(f$d)
  list(values = unname(c(off$value, on$value, on$value - off$value, log(on$value / off$value), b[2] * mean(f$d), sum(set$X[1, ] * b))),
       gradients = unname(rbind(off$gradient, on$gradient, on$gradient - off$gradient,
                                on$gradient / on$value - off$gradient / off$value, slope, set$X[1, ])))
}

contrasts_of <- function(fit, V, quantities) {
  found <- linear_contrast(fit, vcov = V, contrasts = quantities$gradients, test = "Satterthwaite")
  t <- quantities$values / found$SE
  reach <- qt(0.975, found$df) * found$SE
  list(se = found$SE, df = found$df, p = 2 * pt(-abs(t), found$df), lower = quantities$values - reach, upper = quantities$values + reach)
}

one_fit <- function(set, cluster, link, column) {
  fit <- settled(set, link, maximum_likelihood(set, link))
  kinds <- c("CR0", "CR1", "CR2", "CR3")
  found <- sapply(kinds, function(kind) vcovCR(fit, cluster = cluster, type = kind), simplify = FALSE)
  quantities <- derived(set, link, coef(fit), column)
  c(lapply(found, function(V) unname(as.matrix(V))), list(tests = lapply(found, function(V) tests(fit, V))),
    list(derived = c(list(column = column, values = quantities$values), lapply(found, function(V) contrasts_of(fit, V, quantities)))))
}

one_set <- function(name, cluster, column) {
  set <- golden_set(name)
  ids <- cluster(set)
  c(list(provenance = provenance(set), clusters = length(unique(ids))),
    sapply(c("logit", "probit", "cloglog"), function(link) one_fit(set, ids, link, column), simplify = FALSE))
}

write_golden("few_clusters", list(
  about = "Cluster-robust covariances by the leverage of clusters: clubSandwich",
  call = "vcovCR(glm, cluster, type = 'CR0', 'CR1', 'CR2', 'CR3'), coef_test(test = 'Satterthwaite'), Wald_test(test = 'HTZ') of all slopes and of the equality of the last two, linear_contrast(test = 'Satterthwaite') of gradients, glm refitted from its own estimates until they do not move; clusters as the script says",
  versions = versions("clubSandwich"),
  cases = list(
    rare = one_set("rare", function(set) (seq_along(set$y) - 1) %/% 7 %% 12, "x2"),
    birthwt = one_set("birthwt", function(set) (seq_along(set$y) - 1) %% 14, "smoke")
  )
))
