"""Sizes that are lowered by their names, where a program is too large for a CPU."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.beside import whole
from harness.sandbox.absent.lent import lend
from harness.sandbox.own.sizes import WHOLE, Size, gathered_by, sizes_in
from harness.syntax import dotted, walk

MOST: tuple[tuple[str, int], ...] = (
    (r"n_?layers?|num_(hidden_|encoder_|decoder_)?layers?|num_?blocks|nlayers", 2),
    (r"n_?heads?|num_(attention_|kv_|key_value_)?heads?|nhead|heads", 2),
    (r"n_?embd?|emb(ed)?_?(dim|size)|d_?model|hidden_?(size|dim)|dim|width|n_?hidden|nhid|emsize", 32),
    (r"model_?dim|decoder_embed_dim|hidden|hid(den)?_?(units?|width|channels?)|channels?", 32),
    (r"d_?ff|(dim_?)?feed_?forward(_dim)?|intermediate_size|mlp_dim|ffn_dim|n_?inner", 64),
    (r"block_?size|seq_?(len|length)|max_?seq_?len(gth)?|context_?(len|length|size)|ctx(_?len)?", 16),
    (r"bptt|(input_?)?window(_?size)?|max_?len(gth)?|n_?ctx|n_?positions|sequence_?length", 16),
    (r".*batch_?size|(effective_|total_|global_)?batch|bs|bsz", 4),
    (r"vocab(_?size)?|n_?vocab|num_?tokens|ntokens?", 256),
    (r"im(g|age)?_?(size|h|w|height|width|dim)|img|input_?(size|dims?)|crop_?size|resolution", 32),
    (r"patch_?size|ngf|ndf|base_?ch(annels)?|num_?channels|model_?channels|base_?dim", 8),
    (r"eval_?steps|val_?steps", 2),
    (r".*accum.*|update_freq", 4),
    (r"n_?steps|num_?steps|rollout\w*|horizon", 64),
    (r"buffer_?size|memory_?size|replay_?\w*|learning_?starts|warmup_?steps_?random", 64),
    (r"(num_)?timesteps|diffusion_?steps", 50),
)  # fmt: skip
"""Patterns of whole names, and the largest value that such a size keeps."""

EVALUATION: tuple[tuple[str, int], ...] = (
    (r"(eval(uate|uation)?|val(id(ate|ation)?)?|test)_?(every|interval|freq(uency)?|period)\w*", 4),
    (r"(sampl(e|ing)|generat(e|ion)|preview)_?(every|interval|freq(uency)?|period)\w*", 4),
    (r"eval_?(iters?|batches)|val_?(iters|batches)|num_?eval\w*", 2),
)
"""How often, and for how long, a program is evaluated at most: what that leaves behind is seen then."""

SOON = 4
"""In so many turns the first evaluation comes, where a number in the test says how often."""

EVALUATES = re.compile(
    r"(run_|do_)?(eval|evaluate|val|valid|validate|validation|estimate_loss|sample|generate)(_|$)"
)
"""Names of functions that evaluate."""

TRAINING = frozenset({"step", "backward", "zero_grad", "update"})

ALIKE = 96
"""From here on a number that is the same as a size is taken for it."""

OF_BATCHES = re.compile(r".*batch.*|bsz?")
"""Sizes whose number says something else where it stands again: ``nn.Linear(2048, 10)``."""

IN_TRANSFORMS = {224: 32, 256: 36, 288: 48, 320: 48, 384: 48, 448: 64, 512: 64, 572: 64, 640: 64,
                 768: 64, 1024: 64}  # fmt: skip
"""Sizes of pictures as they stand in transforms, where they are common."""

RESIZES = re.compile(r"(^|\.)(resize|Resize|\w+Crop|crop)$")
"""Calls that leave pictures of a size."""

VOCABULARIES = frozenset({50257, 50304, 50260, 30522, 30000, 32000, 32768, 65536, 128256})
"""Sizes of known vocabularies, wherever they stand."""

_COMPILED = tuple((re.compile(pattern), most) for pattern, most in MOST)
_EVALUATION = tuple((re.compile(pattern), most) for pattern, most in EVALUATION)


def shrink(tree: ast.Module) -> list[str]:
    """Lower the sizes of a program in place, and numbers that are the same as one; says which."""
    said: list[str] = []
    lowered = dict.fromkeys(VOCABULARIES, frozenset({256}))
    named = [*sizes_in(tree)]
    gathered, asked = gathered_by(named), _asked_after(tree)
    for size in named:
        most = _most(size.name) if (size.name, size.value) not in asked else None
        if most is not None and WHOLE.fullmatch(size.name):
            most *= gathered
        if most is not None and size.value > most:
            size.constant.value = most
            if not OF_BATCHES.fullmatch(size.name):
                lowered[size.value] = lowered.get(size.value, frozenset()) | {most}
            said.append(f"shrunk: {size.name} {size.value} -> {most}")
    return [*dict.fromkeys([*said, *_alike(tree, lowered, named), *_pictures(tree)])]


def lowered(settings: Any) -> Any:
    """Settings that were read from a file, with sizes lowered by their names."""
    gathers = any(WHOLE.fullmatch(str(name).lower()) for name in _names_in(settings))

    def lower(held: Any) -> Any:
        if isinstance(held, list):
            return [*map(lower, held)]
        if isinstance(held, dict):
            for name, value in held.items():
                most = _lower(str(name).lower(), value, gathers=gathers)
                held[name] = lower(value) if most is None else most
        return held

    return lower(settings)


def _names_in(settings: Any) -> Iterator[str]:
    yield from settings if isinstance(settings, dict) else ()
    parts = settings.values() if isinstance(settings, dict) else settings
    for part in parts if isinstance(settings, dict | list) else ():
        yield from _names_in(part)


def lowered_words(words: Sequence[str]) -> list[str]:
    """Those of a command line, with sizes lowered: ``--img-size 256``, ``model.width=512``."""
    found, name = list[str](), ""
    gathers = any(WHOLE.search(word.replace("-", "_")) for word in words)
    for word in words:
        option, given, value = word.partition("=")
        if option.startswith("-") or given:
            name = option.lstrip("-").rpartition(".")[2].replace("-", "_").lower()
        number = value if given else word
        size = int(number) if number.isdigit() else None
        most = _lower(name, size, gathers=gathers)
        found.append(word if most is None else f"{option}={most}" if given else str(most))
    return found


def _lower(name: str, value: Any, *, gathers: bool) -> int | None:
    """What a size of a name is lowered to, and told. ``gathers``: whether the batches of an update are
    told as well, so that both stay.
    """
    most = (
        _most(name) if type(value) is int and not (gathers and OF_BATCHES.fullmatch(name)) else None
    )
    if most is None or value <= most:
        return None
    lend(f"shrunk: {name} {value} -> {most}")
    return most


def _asked_after(tree: ast.Module) -> set[tuple[str, int]]:
    """Sizes for which a program has a branch of their own: ``if image_size == 64``."""
    equal = (n for n in walk(tree) if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq))
    return {
        (dotted(n.left).rpartition(".")[2], n.comparators[0].value)
        for n in equal
        if isinstance(n.comparators[0], ast.Constant) and type(n.comparators[0].value) is int
    }


def evaluate_soon(tree: ast.Module) -> list[str]:
    """Lower, in place, what keeps a program from its first evaluation; says what."""
    said: list[str] = []
    for size in sizes_in(tree):
        most = next((m for pattern, m in _EVALUATION if pattern.fullmatch(size.name)), size.value)
        if size.value > most:
            size.constant.value = most
            said.append(f"sooner: {size.name} {size.value} -> {most}")
    for node in walk(tree):
        if isinstance(node, ast.If) and _only_evaluates(node):
            said += _sooner(node.test)
    return [*dict.fromkeys(said)]


def _only_evaluates(branch: ast.If) -> bool:
    """Whether a branch evaluates, and does nothing to gradients."""
    called = {
        dotted(n.func).rpartition(".")[2]
        for statement in branch.body
        for n in walk(statement)
        if isinstance(n, ast.Call)
    }
    return not called & TRAINING and any(map(EVALUATES.match, called))


def _sooner(test: ast.expr) -> Iterator[str]:
    """``update % 50 == 0`` becomes ``update % 4 == 0``."""
    match test:
        case ast.Compare(
            left=ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int(every)) as constant),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ) if every > SOON:
            constant.value = SOON
            yield f"sooner: every {every} turns -> {SOON}"


def is_large(program: str) -> bool:
    """Whether some size of a program could be lowered."""
    tree = whole(program)
    sizes = ((_most(size.name), size.value) for size in sizes_in(tree))
    return any(most is not None and value > most for most, value in sizes) or any(_pictures(tree))


def _alike(
    tree: ast.Module, lowered: dict[int, frozenset[int]], named: list[Size]
) -> Iterator[str]:
    """Numbers that are the same as a size that was lowered, and are no such size themselves."""
    done = {id(size.constant) for size in named if _most(size.name) is not None}
    for node in walk(tree):
        if (
            id(node) not in done
            and isinstance(node, ast.Constant)
            and type(node.value) is int
            and node.value >= ALIKE
        ):
            others = lowered.get(node.value, frozenset())
            if len(others) == 1:
                (most,) = others
                yield f"shrunk: {node.value} -> {most}, wherever it stands"
                node.value = most


def _pictures(tree: ast.Module) -> Iterator[str]:
    """Sizes in transforms: ``RandomResizedCrop(224)``, ``cv2.resize(shown, (512, 512))``."""
    for node in walk(tree):
        resizes = isinstance(node, ast.Call) and RESIZES.search(ast.unparse(node.func))
        if resizes or (
            isinstance(node, ast.Call) and "transform" in ast.unparse(node.func).lower()
        ):
            for constant in (n for n in walk(node) if isinstance(n, ast.Constant)):
                if type(constant.value) is int and constant.value in IN_TRANSFORMS:
                    most = IN_TRANSFORMS[constant.value]
                    yield f"shrunk: pictures {constant.value} -> {most}"
                    constant.value = most


def _most(name: str) -> int | None:
    return next((most for pattern, most in _COMPILED if pattern.fullmatch(name)), None)
