"""What is told of a block that cannot be run."""

from harness.checking.examples import missing_packages
from harness.checking.session import BlockInContext


def needed(reason: str) -> tuple[str, ...]:
    text = "import matplotlib.pyplot as plt\nimport no_such_package as warmup\nplt.show()"
    return missing_packages(BlockInContext(text, (1, 2, 3), 0), reason)


def test_a_block_needs_the_package_that_its_reason_names():
    assert needed("no_such_package needs no_such_package, which is not here.") == (
        "no_such_package",
    )


def test_a_package_that_is_not_here_hides_no_other_reason():
    assert needed("RuntimeError: shapes cannot be multiplied (16x8 and 4x2)") == ()
