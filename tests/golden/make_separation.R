# Separation by linear programming: which coefficients have infinite maximum likelihood estimates, and whether all rows are separated.
# detectseparation.json holds the same verdicts by the package detectseparation, where its data are at hand.
source("common.R")

# Maximise goal'd over directions d = u - w, 0 <= u, w <= 1, that put no row on the wrong side (Konis 2007); with a margin m, signed d >= m.
furthest <- function(goal, signed, margin = FALSE) {
  k <- ncol(signed)
  found <- lpSolve::lp("max", c(goal, -goal, +margin), rbind(cbind(signed, -signed, -margin), diag(2 * k + 1)[1:(2 * k), ]),
                       rep(c(">=", "<="), c(nrow(signed), 2 * k)), rep(0:1, c(nrow(signed), 2 * k)))
  stopifnot(found$status == 0)
  list(value = found$objval, direction = found$solution[1:k] - found$solution[k + 1:k])
}

case <- function(name) {
  set <- golden_set(name)
  X <- set$X
  signed <- unique(rbind(X[set$y > 0, , drop = FALSE], -X[set$y < set$trials, , drop = FALSE]))
  best <- furthest(colSums(signed), signed)
  signs <- ifelse(abs(best$direction) < 1e-9, 0, sign(best$direction))
  reach <- sapply(seq_len(ncol(X)), function(j) sapply(c(-1, 1), function(way) furthest(way * (seq_len(ncol(X)) == j), signed)$value))
  one_way <- pmin(reach[1, ], reach[2, ]) < 1e-9
  stopifnot(all(signs[one_way] == sign(round(reach[2, ] - reach[1, ], 9))[one_way])) # where only one way is open, it is the one taken
  margin <- furthest(numeric(ncol(X)), signed, margin = TRUE)$value # all rows are strictly separated if it is positive
  list(provenance = provenance(set), separated = best$value > 1e-9, complete = margin > 1e-9, direction = named(c("-Inf", "0", "Inf")[signs + 2], colnames(X)))
}

write_golden("separation", list(
  about = "Separation of the outcomes, and the directions of infinite maximum likelihood estimates",
  call = "lpSolve::lp: the direction in [-1, 1] that puts no row on the wrong side and is furthest from all of them together; checked by the furthest each coefficient can go",
  versions = versions("lpSolve", "MASS", "brglm2", "survival"),
  cases = sapply(c("separated", "binaries", "lizards", "birthwt", "nwtco", "toy_complete"), case, simplify = FALSE)
))
