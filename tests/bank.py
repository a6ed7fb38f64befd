"""The bank that comes with this checkout, read once for all tests of a process."""

from harness.scenarios import default_bank, load_bank

BANK = load_bank(default_bank())
