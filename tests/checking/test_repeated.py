"""Whose error it is where something was lent: other worlds tell."""

import pytest

from harness.checking.repeated import doubt_about, error_everywhere
from harness.checking.session import BlockInContext
from harness.domain.trace import Program
from tests.fakes.traces import program as traced


def block(text: str) -> BlockInContext:
    return BlockInContext(text, tuple(range(1, text.count("\n") + 2)), 0)


def ended(exception: str, message: str, line: int) -> Program:
    return traced(outcome="raised", exception=exception, message=message, line=line)


def asserted(text: str, *printed: str) -> str | None:
    """What is said of a failing last line, where other worlds print these operands."""
    program, line = block(text), text.count("\n") + 1
    first = ended("AssertionError", "", line)
    doubt = doubt_about(first, program)
    others = [first.model_copy(update={"texts": (f"harness-check asserts {p}",)}) for p in printed]
    return error_everywhere(doubt, others, program) if doubt is not None else None


LOOK = "model.eval()\nout = model(x)\n"


def test_what_is_the_same_whatever_is_lent_is_the_authors():
    said = asserted(f"{LOOK}assert not out.requires_grad", "True", "True")
    assert said == "line 3 raises AssertionError: it is True"


def test_what_differs_with_what_is_lent_is_not():
    assert asserted(f"{LOOK}assert out.mean() == 0.5", "0.1 and 0.5", "0.2 and 0.5") is None


def test_two_values_that_should_be_equal_may_differ_from_world_to_world():
    text = "a = model(x).sum()\nb = model(x).mean()\nassert torch.isclose(a, b)"
    assert asserted(text, "3.0 and 1.0", "5.0 and 0.5") is not None


@pytest.mark.parametrize(
    "text",
    [
        "n = len(dataset)\nassert n == 48",
        "assert optimizer.defaults['momentum'] == 0.9",
        "assert all(p.requires_grad for p in model.parameters())",
    ],
    ids=["a count of what was lent", "a setting of ours", "a lent thing as it is"],
)
def test_what_is_lent_as_it_is_is_nobodys_fault(text):
    assert asserted(text, "1 and 2", "1 and 2") is None


def test_what_a_library_says_everywhere_is_the_authors():
    text = "h = trunk(x)\nh.sum().backward()\nh.mean().backward()"
    first = ended("RuntimeError", "Trying to backward through the graph a second time", 3)
    first = first.model_copy(update={"during": "torch.autograd.graph"})
    doubt = doubt_about(first, block(text))

    assert doubt is not None
    assert error_everywhere(doubt, [first, first], block(text)) is not None
    other = first.model_copy(update={"message": "The size of tensor a (2) must match"})
    assert error_everywhere(doubt, [first, other], block(text)) is None


def test_gradients_that_a_loop_of_ours_made_are_not_the_authors():
    text = "def size(m): return 1\nn = clip(model.parameters())\nassert isclose(n, size(model))"
    first = ended("AssertionError", "", 3)
    note = (
        "written for one batch: run for every batch of the loader, with backward before each batch"
    )
    assert doubt_about(first, block(text)) is not None
    assert doubt_about(first.model_copy(update={"bound": (note,)}), block(text)) is None
    no_gradients = first.model_copy(update={"bound": (note,)})
    assert doubt_about(no_gradients, block(f"{LOOK}assert not out.requires_grad")) is not None


def test_operands_are_evaluated_once():
    program = block("calls = []\nassert [calls.append(1), len(calls)][1] is 2, (\n  'why')")
    doubt = doubt_about(ended("AssertionError", "", 2), program)

    assert doubt is not None
    told: list[str] = []
    with pytest.raises(AssertionError):
        exec(doubt.asked.text, {"print": lambda *words: told.append(" ".join(map(str, words)))})
    assert told == ["harness-check asserts 1 and 2"]
    assert doubt.asked.text.count("\n") == program.text.count("\n")


def test_what_a_library_says_of_use_names_other_parts_in_other_worlds():
    text = "torch.save(DDP(model).state_dict(), path)\nmodel.load_state_dict(torch.load(path))"
    first = ended("RuntimeError", "Error in Sequential: Missing key(s): 0.weight", 2)
    first = first.model_copy(update={"during": "torch.nn.Module.load_state_dict"})
    other = first.model_copy(update={"message": "Error in ConvNet: Missing key(s): conv1.weight"})
    doubt = doubt_about(first, block(text))

    assert doubt is not None
    assert error_everywhere(doubt, [first, other], block(text)) is not None


def test_a_world_whose_shapes_do_not_fit_the_line_that_raises_says_nothing():
    program, twice = block("loss.backward()"), "Trying to backward through the graph a second time"
    first = ended("RuntimeError", twice, 1).model_copy(update={"during": "torch.autograd.backward"})
    misfit = ended("RuntimeError", "The size of tensor a", 1).model_copy(
        update={"during": "torch.add"}
    )
    doubt = doubt_about(first, program)
    assert doubt is not None
    assert error_everywhere(doubt, [first, misfit], program) is not None
    assert error_everywhere(doubt, [misfit], program) is None


def test_whether_what_is_lent_requires_a_gradient_is_ours_where_no_model_is_in_sight():
    said = "element 0 of tensors does not require grad and does not have a grad_fn"
    first = ended("RuntimeError", said, 2).model_copy(update={"during": "backward"})
    assert doubt_about(first, block("out = double(data)\nout.sum().backward()")) is None
    assert doubt_about(first, block("out = model(data).detach()\nout.sum().backward()")) is not None


def test_an_assertion_about_the_machine_is_nobodys_fault():
    asks = block("import torch\nassert torch.cuda.device_count() >= 2")
    assert doubt_about(ended("AssertionError", "", 2), asks) is None


def test_what_a_library_says_of_an_argument_is_nothing_of_its_use():
    said = "Trainer.__init__() got an unexpected keyword argument 'args'"
    error = ended("TypeError", said, 1).model_copy(update={"during": "lightning.wrap"})
    assert doubt_about(error, block("trainer = Trainer(x)")) is None


@pytest.mark.parametrize(
    "text",
    [
        "loader = DataLoader(dataset, batch_size=4)\nn = len(loader)\nassert n == 99 // 4 + 1",
        "for image in loader:\n    assert image.shape == torch.Size([4, 1])",
    ],
    ids=["batches", "a shape"],
)
def test_how_many_there_are_of_what_was_lent_is_ours_whatever_they_are_held_against(text):
    assert asserted(text, "1 and 25", "1 and 25") is None


def test_what_a_class_makes_that_nobody_knows_is_nobodys_fault():
    text = "module = DropPath(0.5)\nassert torch.equal(module(x), x)"
    assert asserted(text, "3.0 and 1.0", "5.0 and 0.5") is None
