# Cluster-robust covariances for few clusters: clubSandwich::vcovCR, CR0 to CR3.
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

one_fit <- function(set, cluster, link) {
  fit <- settled(set, link, maximum_likelihood(set, link))
  kinds <- c("CR0", "CR2", "CR3")
  setNames(lapply(kinds, function(kind) unname(as.matrix(vcovCR(fit, cluster = cluster, type = kind)))), kinds)
}

one_set <- function(name, cluster) {
  set <- golden_set(name)
  ids <- cluster(set)
  c(list(provenance = provenance(set), clusters = length(unique(ids))),
    sapply(c("logit", "probit", "cloglog"), function(link) one_fit(set, ids, link), simplify = FALSE))
}

write_golden("few_clusters", list(
  about = "Cluster-robust covariances by the leverage of clusters: clubSandwich",
  call = "vcovCR(glm, cluster, type = 'CR0', 'CR2', 'CR3'), glm refitted from its own estimates until they do not move; clusters as the script says",
  versions = versions("clubSandwich"),
  cases = list(
    rare = one_set("rare", function(set) (seq_along(set$y) - 1) %/% 7 %% 12),
    birthwt = one_set("birthwt", function(set) (seq_along(set$y) - 1) %% 14)
  )
))
