"""Monte Carlo studies of estimates, intervals and tests, with known truths."""
