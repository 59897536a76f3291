# Cluster-robust covariances and their small-sample factors: sandwich::vcovCL, one- and two-way, and rms::robcov.
source("common.R")
suppressPackageStartupMessages({library(sandwich); library(rms)})

CONTROL <- glm.control(epsilon = 1e-15, maxit = 100)

one_set <- function(name, way_two) {
  set <- golden_set(name)
  exact <- maximum_likelihood(set, "logit")
  fit <- suppressWarnings(glm(set$formula, binomial(), set$frame, start = exact, control = CONTROL))
  both <- data.frame(one = set$cluster, two = way_two(set))
  clusters <- function(ids, ...) unname(vcovCL(fit, cluster = ids, ...))
  # lrm from the same estimates: robcov takes scores and information of its fit
  d <- data.frame(y = set$y, set$X[, -1])
  by_lrm <- lrm(y ~ ., data = d, x = TRUE, y = TRUE, initial = unname(exact), tol = 1e-14, eps = 1e-14)
  list(
    provenance = provenance(set), clusters = sapply(both, function(ids) length(unique(ids))),
    default = clusters(set$cluster), HC0_cadjust = clusters(set$cluster, type = "HC0"),
    HC0 = clusters(set$cluster, type = "HC0", cadjust = FALSE), HC1 = clusters(set$cluster, type = "HC1"),
    robcov = unname(vcov(robcov(by_lrm, set$cluster))),
    two_way = list(HC0 = clusters(both, type = "HC0", cadjust = FALSE), default = clusters(both), HC1 = clusters(both, type = "HC1")),
    two_way_fixed = clusters(both, type = "HC0", cadjust = FALSE, fix = TRUE)
  )
}

write_golden("clusters", list(
  about = "Logit with cluster-robust covariances: sandwich::vcovCL and rms::robcov",
  call = paste("vcovCL(glm, cluster, type, cadjust, fix), glm from estimates polished by Fisher scoring; default is vcovCL(glm, cluster);",
               "robcov(lrm(x = TRUE, y = TRUE), cluster). The second clustering is by (row - 1) mod 7 (birthwt: mod 3, which is not positive semi-definite)"),
  versions = versions("sandwich", "rms"),
  cases = list(
    rare = one_set("rare", function(set) (seq_along(set$y) - 1) %% 7),
    birthwt = one_set("birthwt", function(set) (seq_along(set$y) - 1) %% 3)
  )
))
