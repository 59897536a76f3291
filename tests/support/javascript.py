"""JavaScript run by node, where there is one."""

import json
import shutil
import subprocess

import pytest


def run(source, expression):
    """Return the value of an expression after some source; NaN comes back as None."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine, which runs the JavaScript")
    words = f"{source}\nconsole.log(JSON.stringify({expression}))"
    said = subprocess.run([node, "-"], input=words, text=True, capture_output=True, check=True)
    return json.loads(said.stdout)


def plain(row):
    """Return a row of a table as JSON has it."""
    missing = {key: None if value is None or value != value else value for key, value in row.items()}
    return {key: value.item() if hasattr(value, "item") else value for key, value in missing.items()}
