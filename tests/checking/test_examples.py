"""What is told of a block that cannot be run."""

from harness.checking.examples import missing_packages
from harness.checking.session import BlockInContext
from tests.fakes.traces import program


def needed(reason: str) -> tuple[str, ...]:
    text = "import matplotlib.pyplot as plt\nimport no_such_package as warmup\nplt.show()"
    return missing_packages(BlockInContext(text, (1, 2, 3), 0), reason)


def test_a_block_needs_the_package_that_its_reason_names():
    assert needed("no_such_package needs no_such_package, which is not here.") == (
        "no_such_package",
    )


def test_a_package_that_is_not_here_hides_no_other_reason():
    assert needed("RuntimeError: shapes cannot be multiplied (16x8 and 4x2)") == ()


def test_a_block_needs_the_package_that_the_line_where_it_ended_uses():
    text = "from no_such_package import Bold\noptimizer = Bold(model)\noptimizer.first()\nmodel(x)"
    block = BlockInContext(text, (1, 2, 3, 4), 0)
    needs = [missing_packages(block, "SGD has no first", program(line=n)) for n in (3, 4)]
    assert needs == [("no_such_package",), ()]


def test_a_block_needs_the_package_that_made_what_the_line_where_it_ended_uses():
    lacking = {"booster": frozenset({"no_such_package"})}
    block = BlockInContext("booster.backward(loss)\nstep()", (1, 2), 0, lacking=lacking)
    needs = [missing_packages(block, "SGD has no backward", program(line=n)) for n in (1, 2)]
    assert needs == [("no_such_package",), ()]


def test_a_block_needs_the_extra_that_an_installed_package_asks_for():
    said = 'ImportError: some dependencies are missing. Run `pip install "json[train]"` to fix.'
    assert needed(said) == ("json[train]",)


def test_a_device_that_torch_does_not_know_needs_its_package():
    for said in ("module 'torch' has no attribute 'npu'", "No module named 'torch.npu'"):
        assert needed(f"AttributeError: {said}") == ("torch_npu",), said


def test_a_package_keeps_from_running_what_is_made_of_a_class_that_uses_it():
    text = "import no_such.nn as theirs\nclass Net(Module):\n    layer = theirs.Conv\nm = Net()\nfit(m)"
    block = BlockInContext(text, tuple(range(1, 6)), 0)
    assert missing_packages(block, "ValueError: nothing to train", program(line=5)) == ("no_such",)
