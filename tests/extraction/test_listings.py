"""Code is found in a listing, whatever stands beside its lines."""

import ast

import pytest

from harness.extraction.listings import plain
from harness.extraction.parsing import parsed
from tests.extraction.test_extract import LOOP, block, program

LINES = LOOP.rstrip("\n").split("\n")
LISTINGS = {
    "a shell": "\n".join([f">>> {LINES[0]}", *(f"... {line}" for line in LINES[1:])]),
    "a shell that printed": "\n".join(
        [f">>> {LINES[0]}", *(f"... {line}" for line in LINES[1:]), "...", "tensor(1.5)"]
    ),
    "ipython": "\n".join([f"In [3]: {LINES[0]}", *(f"   ...: {line}" for line in LINES[1:])]),
    "spaces of a web page": LOOP.replace("    ", "\u00a0" * 4),
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_the_code_of_a_listing_is_the_candidate(listing):
    assert program(block(f"{listing}\n")).strip() == LOOP.strip()


def test_an_error_that_a_shell_printed_stands_behind_the_line_that_raised_it():
    listing = ">>> z.backward()\nRuntimeError: no grad\n>>> print(z)\ntensor(1.)"
    assert plain(listing) == "z.backward()  # raises RuntimeError: no grad\n\nprint(z)\n"


@pytest.mark.parametrize(
    "info", ["pycon", "ipython", "python:train.py", "python,linenos", "{.python}"]
)
def test_a_block_in_a_dialect_of_python_is_python(info):
    assert program(block(LOOP, info=info)) == LOOP


@pytest.mark.parametrize(
    "code", [LOOP, "1\n", "x = [\n    1,\n    2,\n]\n", "3 + 4\n5 + 6\n", "", "..."]
)
def test_code_that_only_looks_like_a_listing_stays_as_it_is(code):
    assert plain(code) == code


@pytest.mark.parametrize(
    "magics",
    ["%%time\n", "# cell 2\n%%capture out\n", "!pip install accelerate\n", "%matplotlib inline\n"],
)
def test_the_magics_of_a_notebook_are_no_part_of_the_program(magics):
    code = program(block(f"{magics}{LOOP}"))
    assert [n.lineno for n in parsed(code).body if not isinstance(n, ast.Pass)]
    assert code.strip().endswith(LOOP.strip())


def test_what_a_magic_times_is_still_run():
    assert plain("def run():\n    step()\n\n%time run()") == "def run():\n    step()\n\nrun()"


@pytest.mark.parametrize("code", ["x = (a\n  % b)\n", "%%bash\nls\n", "if x:\n% y\n", "!\n)"])
def test_what_is_no_cell_of_a_program_stays_as_it_is(code):
    assert plain(code) == code
