"""Whose error it is that ended a block."""

import pytest

from harness.checking.errors import authors_error
from harness.checking.session import BlockInContext
from tests.fakes.traces import program


def told(  # noqa: PLR0917 - each is a fact of how it ended
    text: str,
    exception: str,
    message: str,
    line: int,
    own: int = 0,
    calls: tuple[str, ...] = (),
    during: str | None = None,
    again: tuple[str, ...] | None = None,
) -> str | None:
    """``again``: what other runs raise in the same place; ``None``: the same."""
    lines = tuple(range(101, 101 + text.count("\n") + 1))
    ended = program(outcome="raised", exception=exception, message=message, line=line, calls=calls)
    ended = ended.model_copy(update={"during": during})
    others = tuple(ended.model_copy(update={"message": m}) for m in again or (message,))
    return authors_error(ended, BlockInContext(text, lines, own), lambda: others)


def test_a_failing_assertion_about_what_the_page_made_is_its_authors():
    assert told("x = 3\nassert x == 4", "AssertionError", "", 2) == "line 102 raises AssertionError"


@pytest.mark.parametrize(
    "text",
    [
        "assert model(1) == 4",
        "y = model(1)\nassert y == 4",
        "f = lambda: model(1)\nassert f() == 4",
    ],
)
def test_a_failing_assertion_about_what_was_lent_is_not(text):
    assert told(text, "AssertionError", "", text.count("\n") + 1) is None


def test_an_argument_that_a_library_does_not_take_is_named_with_its_version():
    text = "import yaml\nloader = yaml.Loader(optimizer, verbose=True)"
    said = "Loader.__init__() got an unexpected keyword argument 'verbose'"
    found = told(text, "TypeError", said, 2)
    assert found is not None
    assert found.startswith(f"line 102 raises TypeError: {said} (yaml 6")


def test_an_argument_that_what_was_lent_does_not_take_is_nobodys_fault():
    said = "Lent.forward() got an unexpected keyword argument 'labels'"
    assert told("model(x, labels=y)", "TypeError", said, 1) is None


def test_a_sketch_of_a_call_is_no_call():
    text = "import yaml\nloader = yaml.Loader(...)"
    said = "Loader.__init__() takes 1 positional argument but 2 were given"
    assert told(text, "TypeError", said, 2) is None


def test_a_name_that_an_installed_library_does_not_have_is_the_authors():
    said = "cannot import name 'Loadest' from 'yaml' (/somewhere/yaml/__init__.py)"
    found = told("from yaml import Loadest", "ImportError", said, 1)
    assert found is not None
    assert "cannot import name 'Loadest' from 'yaml' (yaml 6" in found


def test_a_method_that_a_class_of_the_page_does_not_have_is_the_authors():
    text = (
        "class Net:\n    def __init__(self): self.a = 1\n    def f(self): return self.g\nNet().f()"
    )
    assert told(text, "AttributeError", "'Net' object has no attribute 'g'", 3) is not None


@pytest.mark.parametrize(("more", "is_the_authors"), [("", False), ("    def f(self): 0\n", True)])
def test_a_module_of_which_only_its_making_is_shown_is_a_sketch(more, is_the_authors):
    for made in ("def __init__(self): 0", "pass"):
        text = f"from torch import nn\nclass Net(nn.Module):\n    {made}\n{more}Net()(1)"
        line = text.count("\n") + 1

        found = told(text, "NotImplementedError", "Module [Net] is missing", line)

        assert (found is not None) is is_the_authors


def test_a_method_that_a_lent_model_does_not_have_is_a_missing_stand_in():
    said = "'Mlp' object has no attribute 'gradient_checkpointing_enable'"
    assert told("model.gradient_checkpointing_enable()", "AttributeError", said, 1) is None


def test_an_error_in_lines_of_another_block_is_not_this_blocks():
    assert told("x = 1 / 0\nprint(x)", "ZeroDivisionError", "division by zero", 1, own=1) is None


@pytest.mark.parametrize(
    "said",
    [
        "Torch not compiled with CUDA enabled",
        "Default process group has not been initialized",
        "You must initialize the accelerate state by calling `PartialState()`",
    ],
)
def test_what_this_machine_lacks_is_nobodys_fault(said):
    assert told("import torch\ntorch.ones(1).cuda()", "RuntimeError", said, 2) is None


def test_what_this_build_of_torch_lacks_is_the_machines():
    said = "module 'torch._C' has no attribute '_cuda_record_memory_history'"
    assert told("import torch\ntorch.cuda.memory()", "AttributeError", said, 2) is None


def test_an_attribute_of_what_may_be_another_object_is_nobodys_fault():
    text, said = "model = Net()\nmodel.layer3", "'Net' object has no attribute 'layer3'"
    program_ = BlockInContext(f"class Net: ...\n{text}", (1, 2, 9), 2, frozenset({"model"}))
    ended = program(outcome="raised", exception="AttributeError", message=said, line=3)
    assert authors_error(ended, program_, lambda: (ended,)) is None


def test_a_name_that_a_library_asks_for_itself_is_not_the_authors():
    said = "module 'torch' has no attribute 'auto'"
    assert told("import torch\nmade = pipeline(x)", "AttributeError", said, 2) is None


def test_a_whole_model_that_torch_no_longer_loads_is_the_authors():
    text = 'import torch\ntorch.save(model, "m.pt")\nmodel = torch.load("m.pt")'
    said = "Weights only load failed. This file can still be loaded, to do so you have two options"
    found = told(text, "UnpicklingError", said, 3, during="torch.serialization.load")
    assert found == "line 103 raises UnpicklingError: Weights only load failed"


@pytest.mark.parametrize(
    "said",
    [
        "Using `fp8` requires MS-AMP to be installed.",
        "Expected a path to an existing deepspeed config",
    ],
)
def test_packages_and_files_that_are_not_here_are_nobodys_fault(said):
    assert told("import torch\nx = 1", "ValueError", said, 2) is None


def test_a_name_that_a_library_asks_for_within_is_not_the_authors():
    text = 'from transformers import pipeline\nner = pipeline("ner")'
    assert told(text, "AttributeError", "module 'torch' has no attribute 'auto'", 2) is None
    asked = "import torch\ntorch.auto(1)"
    assert told(asked, "AttributeError", "module 'torch' has no attribute 'auto'", 2) is not None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('int(os.environ.get("RANKS", ""))', "invalid literal for int() with base 10: ''"),
        ("profile(activities=[Activity.CUDA])", "No activities specified"),
        ("torch.zeros(10**10)", "DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_what_differs_from_machine_to_machine_is_not(line, message):
    assert told(f"import os, torch\n{line}", "ValueError", message, 2) is None
    assert told("import os, torch\nint('a')", "ValueError", "invalid literal", 2) is not None


def test_a_line_that_was_added_is_never_blamed():
    said = "Net.__init__() missing 1 required positional argument: 'config'"
    text = "class Net:\n    def __init__(self, config): pass\nNet()"
    ended = program(outcome="raised", exception="TypeError", message=said, line=3)
    assert authors_error(ended, BlockInContext(text, (1, 2, 0), 0), lambda: (ended,)) is None
    assert authors_error(ended, BlockInContext(text, (1, 2, 3), 0), lambda: (ended,)) is not None


UNSCALED = "loss.backward()\n{}scaler.update()"


@pytest.mark.parametrize(("step", "is_authors"), [("scaler.step(optimizer)\n", True), ("", False)])
def test_a_scaler_that_nobody_gave_a_loss_is_the_authors_where_its_loop_is_shown(step, is_authors):
    said = "Attempted step but _scale is None."
    found = told(UNSCALED.format(step), "AssertionError", said, 2, during="torch.amp.step")
    assert (found is not None) == is_authors


def test_a_function_that_nobody_calls_may_mean_another_object_of_that_name():
    text = "class Fast:\n    def clear(self): optimizer.zero_grad()\noptimizer = Fast()"
    said = "'Fast' object has no attribute 'zero_grad'"
    assert told(text, "AttributeError", said, 2, calls=("Fast().clear()",)) is None
    assert told(f"{text}\noptimizer.clear()", "AttributeError", said, 2) is not None


def test_what_something_stands_in_for_though_it_is_installed_is_lent():
    text = "import rich\nassert isinstance(rich.__version__, str)"
    assert told(text, "AttributeError", "__version__", 2) is None


def test_a_model_that_another_block_made_of_a_library_may_not_be_the_one_that_is_meant():
    text = "from yaml import Loader\nmodel = Loader(1)\nx = model.conv1(1)"
    said = "'Loader' object has no attribute 'conv1'"
    assert told(text, "AttributeError", said, 3, own=2) is None
    assert told(f"{text}\nmodel.fc = Loader(2)", "AttributeError", said, 3, own=2) is None
    assert told(text, "AttributeError", said, 3) is not None


def test_a_gradient_that_another_block_may_have_computed_is_nobodys_fault():
    said = "'NoneType' object has no attribute 'zero_'"
    before = "x = torch.ones(2, requires_grad=True)\n"
    own = "x.grad.zero_()\nx.sum().backward()"
    assert told(before + own, "AttributeError", said, 2, own=1) is None
    assert told(before + own, "AttributeError", said, 2) is not None
    each = "for p in model.parameters():\n    p.grad.zero_()"
    assert told("model = torch.nn.Linear(2, 2)\n" + each, "AttributeError", said, 3, own=1) is None


def test_a_class_that_leaves_out_how_it_is_made_lacks_nothing_by_its_authors_fault():
    text = "class M(Base):\n    def f(self):\n        return self.encoder\nM().f()"
    said = "'M' object has no attribute 'encoder'"
    assert told(text, "AttributeError", said, 3, calls=("f",)) is None


def test_a_module_that_an_installed_package_does_not_have_is_the_authors():
    said = "No module named 'yaml.trainer'"
    found = told("from yaml.trainer import A", "ModuleNotFoundError", said, 1)
    assert found is not None
    assert found.startswith(f"line 101 raises ModuleNotFoundError: {said} (yaml 6")
    said = "No module named 'no_such_package.trainer'"
    assert told("from no_such_package.trainer import A", "ModuleNotFoundError", said, 1) is None


def test_how_many_arguments_a_library_takes_may_hang_on_what_is_lent_for_them():
    """``torch.zeros`` says of a tensor among its sizes that it takes one argument."""
    said = "zeros() takes 1 positional argument but 2 were given"
    assert told("import torch\nh = torch.zeros(batch, 3)", "TypeError", said, 2) is None
    assert told("import torch\nh = torch.zeros('a', 3)", "TypeError", said, 2) is not None


def test_an_object_that_bears_the_name_of_a_function_is_not_that_function():
    said = "'function' object has no attribute 'get'"
    assert told("meta = checkpoint.get('config')", "AttributeError", said, 1) is None


@pytest.mark.parametrize(
    "text",
    [
        "a = model(x).sum()\nb = model(x).mean()\nassert a == b",
        "n = len(dataset)\nassert n == 48",
        "target = ...\nassert target == 48",
        "import rich\nassert rich.print is None",
        "module = DropPath(0.5)\nassert module(1) == 1",
        "x = profile(...)\nassert x == 1",
    ],
    ids=["computed of it", "a count", "left out", "a stand-in", "unknown", "a sketch"],
)
def test_no_assertion_counts_in_a_program_to_which_anything_was_lent(text):
    assert told(text, "AssertionError", "", text.count("\n") + 1) is None


TWICE = "Trying to backward through the graph a second time"
FREED = "h = trunk(x)\nh.sum().backward()\nh.mean().backward()"
OWN = "import torch\nx = torch.ones(2, requires_grad=True)\nh = x * x"


def test_options_that_exclude_each_other_count_whatever_is_lent():
    said, misfit = "sampler option is mutually exclusive with shuffle", "The size of tensor a (2)"
    text = "loader = DataLoader(dataset, sampler=sampler, shuffle=True)"
    assert told(text, "ValueError", said, 1, during="torch.utils.data") is not None
    assert told(text, "ValueError", said, 1, during="torch.utils.data", again=(misfit,)) is None


def test_what_a_library_says_of_a_class_of_another_block_is_not_this_blocks():
    text = "import lightning as L\nclass Lit(L.LightningModule): pass\nL.Trainer().fit(Lit(), rows)"
    said, during = "Support for `epoch_end` has been removed. `Lit` implements it.", "lightning"
    assert told(text, "NotImplementedError", said, 3, during=during) is not None
    assert told(text, "NotImplementedError", said, 3, during=during, own=2) is None


def test_what_autograd_says_of_a_graph_counts_where_nothing_was_lent():
    """Another loss, or another model, may be meant than those that are lent."""
    whole = f"{OWN}\nh.sum().backward()\nh.mean().backward()"
    assert told(FREED, "RuntimeError", TWICE, 3, during="torch.autograd") is None
    assert told(whole, "RuntimeError", TWICE, 5, during="torch.autograd") is not None


def test_what_fails_with_one_seed_and_not_with_another_is_nobodys_fault():
    text = "import torch\nassert torch.rand(1) < 0.1"
    ended = program(outcome="raised", exception="AssertionError", message="", line=2)
    runs = (ended, program(outcome="returned"))
    mine = BlockInContext(text, (1, 2), 0)
    assert authors_error(ended, mine, lambda: runs) is None
    assert authors_error(ended, mine, lambda: (ended, ended)) is not None


def test_a_function_that_a_library_calls_with_more_than_it_takes_is_its_authors_fault():
    said = "hook() takes 2 positional arguments but 3 were given"
    text = "def hook(module, grad): ...\nmodel.register_full_backward_hook(hook)\nloss.backward()"
    assert told(text, "TypeError", said, 3, during="torch.utils.hooks") is not None
    assert told(text, "TypeError", said, 3, during="harness.sandbox.world") is None
    assert told(text, "TypeError", said, 3, own=1, during="torch.utils.hooks") is None


@pytest.mark.parametrize(("text", "is_authors"), [("y = x[..., 0]", True), ("y = f(...)", False)])
def test_dots_in_an_index_leave_nothing_out(text, is_authors):
    block = f"import torch\nx = torch.ones(2)\ndef f(): return 1\n{text}\nassert y == 5"
    assert (told(block, "AssertionError", "", 5) is not None) == is_authors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "optimizer = Adam([{'params': model.a.parameters()}, {'params': model.b.parameters()}])",
            "some parameters appear in more than one parameter group.",
        ),
        ("model.load_state_dict(state)", "Error(s) in loading: Missing key(s) in state_dict: a"),
        ("scheduler.step()", "Tried to step 101 times. The specified number of steps is 100"),
    ],
)
def test_what_a_library_says_of_parts_or_numbers_of_what_is_lent_is_nobodys_fault(text, said):
    assert told(text, "ValueError", said, 1, during="torch.optim") is None


def test_a_folder_of_the_page_that_bears_the_name_of_a_library_is_not_that_library():
    said = "No module named 'code.models'; 'code' is not a package"
    assert told("from code.models import A", "ModuleNotFoundError", said, 1) is None


def test_what_the_machine_measures_is_nothing_of_the_pages():
    text = "used = torch.cuda.memory_allocated()\nshare = 1 / used"
    assert told(text, "ZeroDivisionError", "float division by zero", 2) is None


def test_what_the_environment_holds_is_nothing_of_the_pages():
    text = 'import os\nkey = {}\nif not key:\n    raise ValueError("no key")'
    for asked in ('os.getenv("KEY")', 'os.environ.get("KEY")'):
        assert told(text.format(asked), "ValueError", "no key", 4) is None
    assert told(text.format('""'), "ValueError", "no key", 4) is not None


def test_a_backend_that_brings_its_own_part_of_torch_is_no_missing_name():
    said = "module 'torch' has no attribute 'npu'"
    assert told("torch.npu.manual_seed_all(1)", "AttributeError", said, 1) is None


def test_an_error_over_a_file_that_was_lent_is_nobodys_fault():
    ended = program(outcome="raised", exception="IndexError", message="out of range", line=2)
    text = BlockInContext("rows = open('a.txt').readlines()\nrows[9]", (1, 2), 0)
    lent = ended.model_copy(update={"bound": ("a.txt: a text by chance",)})
    assert authors_error(ended, text, lambda: (ended,)) is not None
    assert authors_error(lent, text, lambda: (lent,)) is None


def test_a_state_that_nothing_fills_is_a_sketch():
    read = "state['epoch']['lr']"
    assert told(f"state = {{}}\n{read}", "KeyError", "'epoch'", 2) is None
    assert told(f"state = {{}}\nstate['a'] = 1\n{read}", "KeyError", "'epoch'", 3) is not None


def test_a_name_that_a_library_has_beside_another_package_is_no_missing_name():
    """Its own text hands it out, under a condition on what else is installed."""
    said = "cannot import name 'YAMLObject' from 'yaml'"
    assert told("from yaml import YAMLObject", "ImportError", said, 1) is None


def test_a_name_of_one_letter_stands_for_the_one_that_a_reader_chooses():
    said = "module 'torch.nn' has no attribute '{}'"
    assert told("loss = nn.X(y)", "AttributeError", said.format("X"), 1) is None
    assert told("loss = nn.Xs(y)", "AttributeError", said.format("Xs"), 1) is not None


def test_a_module_of_a_library_that_something_stands_in_for_is_no_missing_one():
    said = "No module named 'torch.utils.tensorboard.summary'"
    text = "from torch.utils.tensorboard.summary import hparams"
    assert told(text, "ModuleNotFoundError", said, 1) is None


@pytest.mark.parametrize(
    ("made", "is_authors"),
    [
        ("plateau = ReduceLROnPlateau(optimizer)", True),
        ("plateau = schedule_of(ReduceLROnPlateau)", False),
        ("plateau = ReduceLROnPlateau(optimizer)\nplateau = wrapped(plateau)", False),
    ],
)
def test_a_method_of_a_librarys_object_that_a_line_hands_too_little_is_its_authors(
    made, is_authors
):
    text = f"from torch.optim.lr_scheduler import ReduceLROnPlateau\n{made}\nplateau.step()"
    said = "ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'"
    line = text.count("\n") + 1
    assert (told(text, "TypeError", said, line, own=line - 1) is not None) == is_authors


def test_a_name_of_a_library_that_the_page_may_not_mean_refuses_nothing():
    text = "from torch.optim import Adam as Adam\noptimizer = Adam(beta1=0.9)"
    said = "Adam.__init__() got an unexpected keyword argument 'beta1'"
    ended = program(outcome="raised", exception="TypeError", message=said, line=2)
    may = frozenset({"Adam"})
    for guessed, granted in ((may, frozenset()), (frozenset(), may)):
        block = BlockInContext(text, (0, 101), 1, guessed, granted=granted)
        assert authors_error(ended, block, lambda: (ended,)) is None
    assert authors_error(ended, BlockInContext(text, (0, 101), 1), lambda: ()) is not None


def test_a_class_of_a_package_that_is_not_here_takes_what_it_takes():
    said = "AdamW.__init__() got an unexpected keyword argument 'learning_rate'"
    text = "import {} as optim\noptimizer = optim.AdamW(learning_rate=3e-4)"
    assert told(text.format("no_such.optimizers"), "TypeError", said, 2) is None
    assert told(text.format("torch.optim"), "TypeError", said, 2) is not None


def test_a_package_that_several_distributions_share_is_nobodys_to_import(tmp_path, monkeypatch):
    (tmp_path / "shared_of_many" / "api").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    said = "cannot import name 'trace' from 'shared_of_many' (unknown location)"
    assert told("from shared_of_many import trace", "ImportError", said, 1) is None
    said = "No module named 'shared_of_many.exporter'"
    asked = "from shared_of_many.exporter import Exporter"
    assert told(asked, "ModuleNotFoundError", said, 1) is None


def test_what_is_loaded_in_a_process_is_nothing_of_the_pages():
    text = "import sys\nassert 'torch' not in sys.modules"
    assert told(text, "AssertionError", "", 2) is None


def test_a_name_that_an_absent_package_is_asked_for_is_no_missing_name():
    """What stands in under that name is torch's."""
    text = "from absent_package.gluon import nn\nnet = nn.HybridSequential()"
    said = "module 'torch.nn' has no attribute 'HybridSequential'"
    assert told(text, "AttributeError", said, 2) is None


@pytest.mark.parametrize(
    ("call", "is_the_authors"),
    [
        ("yaml.Loader()", True),
        ("yaml.Loader(*given)", False),
        ("yaml.Loader(...)", False),
        ("made.Loader()", False),
    ],
)
def test_an_argument_that_is_left_out_of_a_librarys_call_is_the_authors(call, is_the_authors):
    said = "Loader.__init__() missing 1 required positional argument: 'stream'"
    found = told(f"import yaml\nloader = {call}", "TypeError", said, 2)
    assert (found is not None) is is_the_authors


@pytest.mark.parametrize(
    ("said", "is_the_authors"),
    [
        ("Support for `training_epoch_end` has been removed in v2.0.0. More follows.", True),
        ("Total length of `DataLoader` is 0.", False),
    ],
)
def test_hooks_that_a_trainer_refuses_are_the_authors(said, is_the_authors):
    text = "class Net(LightningModule): ...\nTrainer().fit(Net(), train_loader)"
    ended = program(outcome="raised", exception="NotImplementedError", message=said, line=2)
    fitted = BlockInContext(text, (101, 0), 0)  # the second line is none of the page
    assert (authors_error(ended, fitted, tuple) is not None) is is_the_authors
