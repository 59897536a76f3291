# Cluster-robust covariances for few clusters: clubSandwich::vcovCR, CR0 to CR3; coef_test by Satterthwaite and Wald_test by HTZ.
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

one_fit <- function(set, cluster, link) {
  fit <- settled(set, link, maximum_likelihood(set, link))
  kinds <- c("CR0", "CR2", "CR3")
  found <- sapply(kinds, function(kind) vcovCR(fit, cluster = cluster, type = kind), simplify = FALSE)
  c(lapply(found, function(V) unname(as.matrix(V))), list(tests = lapply(found, function(V) tests(fit, V))))
}

one_set <- function(name, cluster) {
  set <- golden_set(name)
  ids <- cluster(set)
  c(list(provenance = provenance(set), clusters = length(unique(ids))),
    sapply(c("logit", "probit", "cloglog"), function(link) one_fit(set, ids, link), simplify = FALSE))
}

write_golden("few_clusters", list(
  about = "Cluster-robust covariances by the leverage of clusters: clubSandwich",
  call = "vcovCR(glm, cluster, type = 'CR0', 'CR2', 'CR3'), coef_test(test = 'Satterthwaite'), Wald_test(test = 'HTZ') of all slopes and of the equality of the last two, glm refitted from its own estimates until they do not move; clusters as the script says",
  versions = versions("clubSandwich"),
  cases = list(
    rare = one_set("rare", function(set) (seq_along(set$y) - 1) %/% 7 %% 12),
    birthwt = one_set("birthwt", function(set) (seq_along(set$y) - 1) %% 14)
  )
))
