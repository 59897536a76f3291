"""What several replications use: data, records of draws, figures."""
