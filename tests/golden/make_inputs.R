# The synthetic sets whose outcomes are separated: no maximum likelihood estimate is finite.
# (rare.csv, calibration.csv and toy_complete.csv are synthetic too; they were drawn once and are kept as they are.)

set.seed(79)
n <- 80
level <- rbinom(n, 1, 0.15)
x1 <- round(rnorm(n, 17, 10), 0)
x2 <- round(rgamma(n, 4, 2.4), 2)
y <- rbinom(n, 1, plogis(3.5 - 0.03 * x1 - 2.4 * x2))
y[level == 1] <- 1 # all rows of one level have the event: quasi-complete separation
write.csv(data.frame(y, level, x1, x2), "separated.csv", row.names = FALSE)

set.seed(239)
n <- 240
columns <- sapply(c(a = 0.4, b = 0.75, c = 0.45, d = 0.4, e = 0.3), function(share) rbinom(n, 1, share))
rare <- rbinom(n, 1, 0.04)
y <- rbinom(n, 1, plogis(drop(columns %*% c(-1.1, -0.1, 2.0, -1.9, -0.8)) + 0.4))
y[rare == 1] <- 1
write.csv(data.frame(y, columns, rare), "binaries.csv", row.names = FALSE)


# A sample with unequal weights and clusters of rows, for surveys.
set.seed(503)
n <- 600
psu <- rep(1:40, each = 15)
x <- round(rnorm(n) + rep(rnorm(40, 0, 0.4), each = 15), 3)
region <- sample(c("north", "south", "west"), n, TRUE)
treat <- rbinom(n, 1, plogis(0.4 * x))
weight <- round(exp(rnorm(n, 6, 0.7) + 0.3 * treat), 1)
y <- rbinom(n, 1, plogis(-1.6 + 0.7 * treat + 0.6 * x + 0.5 * (region == "west")))
write.csv(data.frame(y, treat, x, region, weight, psu), "survey.csv", row.names = FALSE)
