"""Scripts that keep the repository in order."""
