def pytest_configure(config):
    """Know the markers of statsmodels' tests, whose mixins run here with our model."""
    for name in ("smoke", "thread_unsafe", "low_precision", "example", "matplotlib"):
        config.addinivalue_line("markers", f"{name}: a marker of statsmodels' test suite")
