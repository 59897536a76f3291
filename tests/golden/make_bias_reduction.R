# brglm2 (adjusted scores, the one-step correction) and the older brglm, for four links.
source("common.R")
suppressPackageStartupMessages(library(brglm2))

TYPES <- c("AS_mean", "AS_median", "MPL_Jeffreys")
SETS <- c("separated", "lizards", "birthwt", "binaries", "nwtco", "rare")
SEPARATED <- c("separated", "binaries")

# brglmFit with shorter steps until the adjusted scores vanish.
reduced <- function(set, link, type) {
  for (slowit in c(1, 0.5, 0.2, 0.1)) {
    fit <- tryCatch(
      suppressWarnings(glm(set$formula, binomial(link), set$frame, method = "brglmFit",
                           control = brglmControl(type = type, epsilon = 1e-13, maxit = 20000, slowit = slowit))),
      error = function(e) NULL
    )
    size <- if (is.null(fit)) Inf else max(abs(fit$grad), na.rm = TRUE)
    if (is.finite(size) && size < 1e-7) break
  }
  V <- solve(information(coef(fit), set, link))
  stopifnot(all.equal(unname(vcov(fit)), unname(V), tolerance = 1e-6))
  list(status = if (size < 1e-7) "converged" else "failed", slowit = slowit, max_abs_adjusted_score = size,
       coef = named(coef(fit), colnames(set$X)), se = named(errors(V), colnames(set$X)), vcov = unname(V))
}

# The first-order bias of Cordeiro and McCullagh, at exact maximum likelihood estimates.
first_order_bias <- function(b, set, link) {
  f <- distribution(link, drop(set$X %*% b))
  V <- solve(information(b, set, link))
  leverage <- rowSums((set$X %*% V) * set$X)
  w <- set$trials * f$d^2 / (f$p * f$q)
  drop(V %*% crossprod(set$X, -0.5 * w * leverage * f$dd / f$d))
}

corrected <- function(set, link, separated) {
  if (separated) return(list(status = "not applicable", reason = "the maximum likelihood estimates are infinite"))
  fit <- suppressWarnings(glm(set$formula, binomial(link), set$frame, method = "brglmFit",
                              control = brglmControl(type = "correction", epsilon = 1e-13, maxit = 1000)))
  b <- maximum_likelihood(set, link)
  list(status = "converged", coef = named(coef(fit), colnames(set$X)), se = named(errors(vcov(fit)), colnames(set$X)),
       vcov = unname(vcov(fit)), by_hand = named(b - first_order_bias(b, set, link), colnames(set$X)))
}

older <- function(set, link) {
  fit <- tryCatch(
    suppressWarnings(brglm::brglm(set$formula, binomial(link), set$frame, pl = FALSE,
                                  control.brglm = brglm::brglm.control(br.epsilon = 1e-9, br.maxit = 3000))),
    error = function(e) NULL
  )
  if (is.null(fit) || !isTRUE(fit$converged)) return(list(status = "diverged"))
  list(status = "converged", coef = named(coef(fit), colnames(set$X)))
}

case <- function(name) {
  set <- golden_set(name)
  fits <- list()
  for (link in LINKS) {
    for (type in TYPES) fits[[paste(type, link, sep = "/")]] <- reduced(set, link, type)
    fits[[paste("correction", link, sep = "/")]] <- corrected(set, link, name %in% SEPARATED)
  }
  list(provenance = provenance(set), brglm2 = fits, brglm = sapply(LINKS, function(link) older(set, link), simplify = FALSE))
}

write_golden("bias_reduction", list(
  about = "Bias-reduced binomial regressions by brglm2 and brglm",
  call = paste("glm(formula, binomial(link), method = 'brglmFit', control = brglmControl(type, epsilon = 1e-13));",
               "brglm(formula, binomial(link), pl = FALSE, control.brglm = brglm.control(br.epsilon = 1e-9));",
               "by_hand: the one-step correction of Cordeiro and McCullagh (1991) from exact estimates (brglm2's own start is good to 1e-6)"),
  versions = versions("brglm2", "brglm", "MASS", "survival"),
  cases = sapply(SETS, case, simplify = FALSE)
))
