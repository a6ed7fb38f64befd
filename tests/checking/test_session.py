"""What a block takes from its page."""

from time import process_time

import pytest

from harness.checking.session import Session
from harness.skills import read_page

FENCE = "```"


def page(*blocks: str) -> list[str]:
    """The programs of the blocks of a page."""
    text = "\n\n".join(b if b.startswith("#!") else f"{FENCE}python\n{b}\n{FENCE}" for b in blocks)
    examples = read_page("a.md", text.replace("#!", "")).examples
    session = Session(examples)
    return [session.program(e, p).text for e in examples for p in e.parts]


def test_a_block_takes_the_last_definition_above_it_and_what_that_needs():
    *_, last = page("import math\ndef f(): return 1", "def f(): return math.pi", "print(f())")
    assert last == "import math\ndef f(): return math.pi\nprint(f())"


def test_what_is_defined_only_below_is_taken_from_there():
    first, _ = page("print(f())", "def f(): return 1")
    assert first == "def f(): return 1\nprint(f())"


def test_a_block_that_redefines_starts_anew():
    """An optimizer of an older model would train nothing."""
    *_, last = page("net = A()\noptimizer = SGD(net)", "net = 3\noptimizer.step(net)")
    assert last == "net = 3\noptimizer.step(net)"


def test_what_needs_something_that_nobody_defines_is_left_to_what_can_be_lent():
    *_, last = page("model = Elsewhere()", "model(x)")
    assert last == "model(x)"


def test_what_needs_a_package_that_is_not_here_is_left_to_what_can_be_lent():
    *_, last = page("import no_such_package\nmodel = no_such_package.load()", "model(x)")
    assert last == "model(x)"


def test_a_warning_example_is_no_definition_for_others():
    wrong = "# WRONG: forgets\ndef f(): return 1"
    *_, last = page("def f(): return 2", wrong, "print(f())")
    assert last == "def f(): return 2\nprint(f())"


def test_a_loss_of_another_block_is_not_gone_back_through():
    *_, last = page("loss = criterion(1)", "loss.backward()")
    assert last == "loss.backward()"
    *_, last = page("loss = 1", "for x in xs:\n    loss.backward()")
    assert last == "for x in xs:\n    loss.backward()"


def test_what_a_page_computes_of_its_own_alone_is_gone_back_through():
    """As its reader does: nothing was lent, and nothing else can be meant."""
    made = "import torch\nx = torch.ones(2, requires_grad=True)\nout = x.mean()"
    *_, last = page(made, "out.backward()\nprint(x.grad)")
    assert last == f"{made}\nout.backward()\nprint(x.grad)"


def test_a_loss_function_of_another_block_is_no_loss_of_one_turn():
    """All that such a block reads was lent, and its page's model with it."""
    model = "import torch\nmodel = torch.nn.Linear(2, 2)\nloss_fn = torch.nn.MSELoss()"
    *_, last = page(model, "loss_fn(model(x), y).backward()")
    assert last == f"{model}\nloss_fn(model(x), y).backward()"


def test_a_line_of_the_program_is_known_by_its_line_on_the_page():
    text = f"# A\n\n{FENCE}python\nx = 1\n{FENCE}\n\n{FENCE}python\n\nprint(x)\n{FENCE}\n"
    _, example = (examples := read_page("a.md", text).examples)
    found = Session(examples).program(example, example.parts[0])
    assert (found.text, found.lines, found.own) == ("x = 1\nprint(x)", (4, 9), 1)


def test_a_name_that_a_page_gives_to_several_things_is_a_guess_in_another_section():
    blocks = ("model = 1", "model = 2", "# Next", "model.step()")
    text = "\n\n".join(b if b[0] == "#" else f"{FENCE}python\n{b}\n{FENCE}" for b in blocks)
    *_, here, there = examples = read_page("a.md", f"# Top\n\n{text}").examples
    programs = [Session(examples).program(e, e.parts[0]) for e in (here, there)]
    assert [p.guessed for p in programs] == [frozenset(), {"model"}]


FREEZE = "for p in model.parameters():\n    p.requires_grad_(False)"
MADE = f"import torch\nmodel = torch.nn.Linear(2, 2)\n{FREEZE}\noptimizer = torch.optim.SGD(model.parameters())"


def test_an_object_is_left_as_its_block_leaves_it():
    *_, last = page(f"{MADE}\nprint(model)", "print(model, optimizer)")
    assert FREEZE in last
    assert last.count("print") == 1


def test_what_trains_in_the_block_of_an_object_is_not_done_again():
    loop = "for x in data:\n    model(x).backward()\n    optimizer.step()"
    *_, last = page(f"{MADE}\n{loop}", "print(model, optimizer)")
    assert "backward" not in last


def test_what_is_computed_without_a_graph_goes_down_the_page():
    *_, last = page("import torch\nwith torch.no_grad():\n    goal = torch.ones(2)", "print(goal)")
    assert last == "import torch\nwith torch.no_grad():\n    goal = torch.ones(2)\nprint(goal)"


def test_what_stands_in_a_block_with_a_package_that_is_not_here_is_a_guess():
    text = f"{FENCE}python\nimport no_such_package\nt = [1]\n{FENCE}\n\n{FENCE}python\nt.v\n{FENCE}"
    examples = read_page("a.md", text).examples
    assert Session(examples).program(examples[1], examples[1].parts[0]).guessed == {"t"}


def test_a_block_that_shows_what_was_printed_is_none():
    text = f"{FENCE}py\n1 + 1\n{FENCE}\n\n{FENCE}python out\n(408, 2) (408,)\n{FENCE}"
    assert [e.code for e in read_page("a.md", text).examples] == ["1 + 1\n"]


def test_what_comes_to_nothing_is_looked_for_once_however_many_ways_lead_there():
    """Each of these needs any of the others first: 12 blocks can be put in 479 million orders."""
    before = process_time()
    *_, last = page(*(f"thing = thing.made_{n}()" for n in range(12)), "other = thing")
    assert (process_time() - before < 5, last.endswith("\nother = thing")) == (True, True)


def test_what_stands_in_the_second_place_for_what_cannot_be_had_is_a_guess():
    imports = "import no_such_package\npipe = no_such_package.load()"
    text = "\n\n".join(
        f"{FENCE}python\n{b}\n{FENCE}" for b in (imports, "pipe.off()", "from json import pipe")
    )
    examples = read_page("a.md", text).examples
    assert Session(examples).program(examples[1], examples[1].parts[0]).guessed == {"pipe"}


def test_what_a_package_that_is_not_here_would_have_made_is_known_by_its_name():
    blocks = ("from no_such_package import Boost", "b = Boost()\nn = 1", "b.step(n)")
    text = "\n\n".join(f"{FENCE}python\n{b}\n{FENCE}" for b in blocks)
    *_, last = examples = read_page("a.md", text).examples
    found = Session(examples).program(last, last.parts[0]).lacking
    assert found == {"b": {"no_such_package"}}


def test_a_class_that_a_package_of_the_page_has_is_imported():
    *_, last = page("import torch.optim\nopt = torch.optim.SGD(p)", "opt = RAdam(p)")
    assert last == "from torch.optim import RAdam\nopt = RAdam(p)"


def test_a_package_that_is_not_here_is_what_a_block_needs_and_no_object_of_that_name():
    *_, last = page("import no_such_package as warmup", "s = warmup.Linear(optimizer)")
    assert last == "import no_such_package as warmup\ns = warmup.Linear(optimizer)"


def test_what_a_page_computes_is_no_guess_where_nobody_goes_back():
    text = "\n\n".join(f"{FENCE}python\n{b}\n{FENCE}" for b in ("logits = 3", "print(logits)"))
    examples = read_page("a.md", text).examples
    assert Session(examples).program(examples[1], examples[1].parts[0]).guessed == frozenset()


NET = "class Net(nn.Module):\n    def forward(self, x):\n        return x"


def test_the_only_model_that_a_page_shows_and_never_makes_is_what_it_speaks_of():
    wrapper = (
        "class Around(nn.Module):\n    def __init__(self, layer):\n        self.layer = layer\n"
    )
    wrapper += "    def forward(self, x):\n        return self.layer(x)"
    *_, last = page("from torch import nn", wrapper, NET, "y = model(x)")
    assert last == f"from torch import nn\n{NET}\ny = model(x)"


@pytest.mark.parametrize("other", ["model = 3", NET.replace("Net", "Other"), "nets = [Net()]"])
def test_a_model_of_which_a_page_leaves_more_than_one_is_lent(other):
    *_, last = page("from torch import nn", NET, other, "y = model(x)")
    assert NET not in last


def test_a_clip_and_a_mode_of_another_block_do_not_come_along():
    made = "net = dict(a=1)\nclip_grad_norm_(net.values(), 1.0)\nnet.eval()\nnet.update(b=2)"
    *_, last = page(made, "net(1)")
    assert last.split("\n")[-3:] == ["net = dict(a=1)", "net.update(b=2)", "net(1)"]


def test_an_optimizer_of_another_model_is_none_of_a_block_that_names_its_own():
    made = "prepared = torch.nn.Linear(2, 2)"
    of_another = "optimizer = torch.optim.SGD(prepared.parameters(), lr=0.1)"
    *_, other = page(made, of_another, "student_model(x).backward()\noptimizer.step()")
    *_, same = page(made, of_another, "prepared(x).backward()\noptimizer.step()")
    assert of_another not in other
    assert of_another in same


def test_what_needs_a_package_that_only_watches_is_taken_from_the_page():
    made = "model = Net(figure=plt.figure())"
    *_, last = page("import matplotlib.pyplot as plt", "class Net: pass", made, "print(model)")
    assert made in last


def test_an_import_that_stands_below_is_there_for_all_that_a_block_takes():
    """The block needs it too, and what is chosen by then stood behind what needs it."""
    made = "def f(x): return torch.exp(x)"
    *_, last, _ = page(made, "print(f(torch.ones(2)))", "import torch")
    assert last == f"import torch\n{made}\nprint(f(torch.ones(2)))"


def test_a_package_of_the_page_is_not_lent_though_it_bears_the_name_of_something():
    """A loop over a loss that its page leaves out takes from it what cannot be lent."""
    turn = "for x in loader:\n    loss.backward()\n    warmup.Linear(optimizer)"
    *_, last = page("import no_such_package as warmup\nloss = 1", turn)
    assert last == f"import no_such_package as warmup\n{turn}"


def test_a_name_of_a_library_that_a_page_does_not_import_may_be_anothers():
    """``nn`` of MLX, ``Adam`` of a page that writes its own; ``torch`` is torch."""
    own = "m = nn.Linear(2, 2)\no = Adam(m.parameters())\nx = torch.ones(2)"
    imports = "import torch.nn as nn\nfrom torch.optim import Adam"
    for other, granted in (("import torch", {"nn", "Adam"}), (imports, set())):
        text = f"{FENCE}python\n{other}\n{FENCE}\n\n{FENCE}python\n{own}\n{FENCE}"
        examples = read_page("a.md", text).examples
        program = Session(examples).program(examples[1], examples[1].parts[0])

        assert program.granted == granted, other


def test_what_reads_a_gradient_belongs_to_the_turn_that_computes_it():
    made = "norms = []\nfor layer in net.layers:\n    norms.append(layer.weight.grad.norm())"
    *_, last = page("net = 1", made, "print(norms)")
    assert last == "norms = []\nprint(norms)"


def test_an_input_that_a_page_makes_is_no_builtin():
    made = "net = torch.nn.Linear(2, 1)\ninput = torch.ones(3, 2)"
    *_, one = page(made, "print(net(input))")
    assert one == f"import torch as torch\n{made}\nprint(net(input))"
    *_, last = page(made, "out = net(input)", "out.backward(torch.ones(3, 1))")
    assert (
        last == f"import torch as torch\n{made}\nout = net(input)\nout.backward(torch.ones(3, 1))"
    )


def test_an_input_that_no_page_makes_is_left_to_its_reader():
    (alone,) = page("print(net(input))")
    assert alone == "print(net(input))"


def test_a_loop_that_trains_by_a_function_changes_nothing_that_is_taken():
    made = "rows = [1, 2]"
    *_, last = page(f"{made}\nfor epoch in rows:\n    train_epoch(rows)", "print(rows)")
    assert last == f"{made}\nprint(rows)"


def test_an_optimizer_holds_what_stands_in_its_list():
    held = "x = torch.zeros(2, requires_grad=True)\noptimizer = Adam([x])"
    *_, last = page(
        f"import torch\nfrom torch.optim import Adam\n{held}", "net(rows)\noptimizer.step()"
    )
    assert "Adam" not in last


@pytest.mark.parametrize(
    "filled",
    [
        "groups.append({'params': whole.head.parameters(), 'lr': 1e-3})",
        "for n, p in whole.named_parameters():\n    if n:\n        groups.append({'params': p})",
    ],
)
def test_an_optimizer_holds_what_its_groups_were_made_of(filled):
    held = f"groups = []\n{filled}\noptimizer = torch.optim.SGD(groups)"
    made = "import torch\nwhole = torch.nn.Linear(2, 2)"
    *_, other = page(made, held, "student(rows).backward()\noptimizer.step()")
    *_, same = page(made, held, "whole(rows).backward()\noptimizer.step()")
    assert "SGD" not in other
    assert filled in same
