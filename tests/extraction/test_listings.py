"""Code is found in a listing, whatever stands beside its lines."""

import pytest

from harness.extraction.listings import plain
from tests.extraction.test_extract import LOOP, block, program

LINES = LOOP.rstrip("\n").split("\n")
LISTINGS = {
    "a shell": "\n".join([f">>> {LINES[0]}", *(f"... {line}" for line in LINES[1:])]),
    "a shell that printed": "\n".join(
        [f">>> {LINES[0]}", *(f"... {line}" for line in LINES[1:]), "...", "tensor(1.5)"]
    ),
    "ipython": "\n".join([f"In [3]: {LINES[0]}", *(f"   ...: {line}" for line in LINES[1:])]),
    "numbers": "\n".join(f"{number}  {line}" for number, line in enumerate(LINES, start=1)),
    "numbers from 41": "\n".join(
        f"{number}: {line}" for number, line in enumerate(LINES, start=41)
    ),
    "spaces of a web page": LOOP.replace("    ", "\u00a0" * 4),
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_the_code_of_a_listing_is_the_candidate(listing):
    assert program(block(f"{listing}\n")).strip() == LOOP.strip()


@pytest.mark.parametrize(
    "info", ["pycon", "ipython", "python:train.py", "python,linenos", "{.python}"]
)
def test_python_is_recognised_by_other_names_too(info):
    assert program(block(LOOP, info=info)) == LOOP


@pytest.mark.parametrize(
    "code", [LOOP, "1\n", "x = [\n    1,\n    2,\n]\n", "3 + 4\n5 + 6\n", "", "..."]
)
def test_code_that_only_looks_like_a_listing_stays_as_it_is(code):
    assert plain(code) == code
