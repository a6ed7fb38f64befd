"""Import this where pytest will run: in the jail it cannot look for its own modules."""

import importlib

import pytest
from _pytest.config import default_plugins

for _name in default_plugins:
    importlib.import_module(f"_pytest.{_name}")

main = pytest.main
"""What runs tests."""
