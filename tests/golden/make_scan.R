# Tests of many columns, one by one: plink2's logistic and Firth regressions of genotypes, and R's score and likelihood-ratio tests.
# The table is synthetic: scan.csv, written here. plink2 is a package of Debian; PLINK2 may name another program.
source("common.R")
suppressMessages(library(brglm2))

set.seed(18)
n <- 600
frequency <- c(0.3, 0.12, 0.45, 0.02, 0.01, 0.006, 0.2, 0.05, 0.01, 0.35, 0.015, 0.08)
variants <- sprintf("v%02d", seq_along(frequency))
d <- data.frame(age = round(rnorm(n), 3), sex = rbinom(n, 1, 0.5))
G <- sapply(frequency, function(p) rbinom(n, 2, p))
d$case <- rbinom(n, 1, plogis(-2.6 + 0.4 * d$age + 0.3 * d$sex + 0.5 * G[, 1] + 1.8 * G[, 4]))
G[sample(n, 24), 7] <- NA  # multiples of four are left: for 575 people, standard errors of this plink2 are wrong in the third digit
G[sample(n, 60), 8] <- NA
G[, 9] <- 0
G[which(d$case == 1)[c(3, 9, 20)], 9] <- 1  # carriers that are all cases: separated
colnames(G) <- variants
d <- cbind(d[c("case", "age", "sex")], G)
write.csv(d, "scan.csv", row.names = FALSE, na = "")

# the table in plink's files, in a folder that is left behind empty
plink <- function(...) {
  folder <- tempfile(); dir.create(folder); on.exit(unlink(folder, recursive = TRUE))
  people <- sprintf("p%03d", seq_len(n))
  calls <- c("0/0", "0/1", "1/1")
  body <- sapply(variants, function(v) {
    called <- calls[d[[v]] + 1]
    called[is.na(called)] <- "./."
    paste(c("1", match(v, variants), v, "A", "C", ".", ".", ".", "GT", called), collapse = "\t")
  })
  head <- c("##fileformat=VCFv4.2", "##contig=<ID=1>", "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"Genotype\">",
            paste(c("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", people), collapse = "\t"))
  writeLines(c(head, body), file.path(folder, "x.vcf"))
  table <- function(name, columns) {
    write.table(cbind("#IID" = people, d[columns]), file.path(folder, name), quote = FALSE, row.names = FALSE, sep = "\t")
  }
  table("case", "case"); table("covariates", c("age", "sex"))
  at <- function(name) file.path(folder, name)
  said <- system2(Sys.getenv("PLINK2", "plink2"), stdout = TRUE, args = c(
    "--vcf", at("x.vcf"), "--pheno", at("case"), "--1", "--covar", at("covariates"), "--out", at("out"), "--threads", "1",
    "--glm", ..., "omit-ref", "hide-covar", "cols=chrom,pos,ref,alt,test,nobs,beta,se,tz,p,err,firth"))
  file <- list.files(folder, "^out.case.glm", full.names = TRUE)
  if (length(file) != 1) stop(paste(said, collapse = "\n"))
  found <- read.table(file, header = TRUE, comment.char = "", check.names = FALSE, na.strings = c("NA", "."))
  found <- found[found$TEST == "ADD", ]
  rownames(found) <- found$ID
  lapply(found[variants, intersect(names(found), c("OBS_CT", "BETA", "SE", "LOG(OR)_SE", "Z_STAT", "P", "FIRTH?", "ERRCODE"))], as.vector)
}

firth_by_plink <- plink("firth")

# tests by R, and Firth's estimates by brglm2, from those of plink2, in the rows where a variant is known
tests <- function(v) {
  known <- d[!is.na(d[[v]]), ]
  formula <- reformulate(c("age", "sex", v), "case")
  control <- glm.control(epsilon = 1e-14, maxit = 100)
  small <- glm(case ~ age + sex, binomial, known, control = control)
  large <- suppressWarnings(glm(formula, binomial, known, control = control))
  firth <- glm(formula, binomial, known, method = "brglmFit", type = "AS_mean",
               start = c(coef(small), firth_by_plink$BETA[variants == v]), control = list(epsilon = 1e-13, maxit = 1000))
  row <- coef(summary(firth))[v, ]
  list(rao = anova(small, large, test = "Rao")$Rao[2], lr = anova(small, large, test = "LRT")$Deviance[2],
       firth = unname(row[1]), firth_se = unname(row[2]))
}

write_golden("scan", list(
  about = "Tests of twelve variants, one by one, beside age and sex: logistic, Firth's, and their mixture by plink2; score and likelihood-ratio tests by R, Firth's estimates by brglm2",
  call = "plink2 --glm [no-firth | firth | firth-fallback] omit-ref hide-covar; anova(glm(case ~ age + sex), glm(case ~ age + sex + v), test = \"Rao\" | \"LRT\"); brglmFit, type = \"AS_mean\"",
  versions = c(versions("brglm2"), plink2 = system2(Sys.getenv("PLINK2", "plink2"), "--version", stdout = TRUE)),
  variants = variants,
  logistic = plink("no-firth"), firth = firth_by_plink, fallback = plink("firth-fallback"),
  r = sapply(variants, tests, simplify = FALSE)
))
