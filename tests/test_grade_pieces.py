"""Pieces of programs, as people paste them, without a scenario: what they are lent, and what that shows
of them. ``tests/material/pieces`` holds them by label; each file's name is a claim.
"""

from pathlib import Path

import pytest

from tests.sampling import asked
from tests.test_grade_alone import written

PIECES = Path("tests/material/pieces")
FAILS = {
    "a-head-that-is-clipped-while-scaled-beside-an-unscaled-body": "unscaled-norm",
    "a-pass-that-was-over-and-is-trained-again-when-resumed": "resume-goes-on",
    "a-ramp-that-goes-on-and-undoes-what-a-plateau-lowers": "scheduler-per-update",
    "rows-of-known-words-that-decay-though-their-gradient-is-cleared": "every-parameter-learns",
    "hooks-of-a-loop-that-all-read-the-last-share": "statements-take-effect",
    "a-backward-of-its-own-that-ignores-what-comes-from-above": "statements-take-effect",
    "a-closure-of-lbfgs-that-draws-its-rows": "statements-take-effect",
    "norms-that-a-list-was-to-spare-and-that-are-called-otherwise": "statements-take-effect",
    "a-penalty-of-gradients-that-still-have-the-loss-scale": "statements-take-effect",
    "a-best-network-that-is-kept-by-another-name-alone": "training-mode-kept",
    "squares-of-a-difference-to-values-that-keep-their-graph": "loss-gets-what-it-takes",
    "a-teacher-that-was-trained-before-and-learns-from-its-pupil": "loss-gets-what-it-takes",
    "an-average-from-a-later-pass-on-with-old-statistics": "training-mode-kept",
    "domains-of-two-loaders-that-a-classifier-learns-to-confuse": "loss-gets-what-it-takes",
    "a-model-of-a-hub-that-nobody-imported-with-a-layer-in-no-group": "clip-global-norm",
    "a-part-that-a-readers-state-is-loaded-into-and-that-is-thawed-for-nobody": "every-parameter-learns",
    "a-rest-of-its-own-data-that-lies-on-the-next-pass": "no-batch-lost",
    "a-temperature-whose-gradient-is-cleared-before-the-second-backward": "every-parameter-learns",
    "a-td-step-whose-values-keep-their-column": "loss-gets-what-it-takes",
    "a-class-that-counts-and-clips-the-sum": "clip-global-norm",
    "a-class-that-goes-backward-and-counts-too-late": "one-update-per-window",
    "a-script-whose-modules-nobody-shows-never-cleared": "gradients-start-fresh",
    "a-model-that-gives-two-losses-clipped-too-early": "clip-before-step",
    "a-td-step-of-free-tensors-through-its-own-goal": "loss-gets-what-it-takes",
    "an-optimizer-that-its-package-no-longer-has-clipped-after-it": "clip-before-step",
    "a-batch-with-a-weight-of-each-row-never-cleared": "gradients-start-fresh",
    "an-average-alone-that-warms-up-the-wrong-way": "training-mode-kept",
    "layers-that-get-their-size-and-are-never-cleared": "gradients-start-fresh",
    "an-average-of-weights-made-with-each-micro-batch": "training-mode-kept",
    "an-average-made-with-each-of-two-micro-batches": "training-mode-kept",
    "a-schedule-made-after-its-optimizer-was-loaded": "resume-goes-on",
    "sums-divided-by-all-samples-that-a-pass-has-had": "accumulation-equals-large-batch",
    "an-average-alone-whose-weights-kept-aside-are-the-model-s-own": "training-mode-kept",
    "a-sampler-of-ranks-that-is-never-told-its-epoch": "statements-take-effect",
    "a-rest-asked-to-be-an-update-of-its-own-and-divided-by-a-full-window": "accumulation-equals-large-batch",
    "layers-that-an-earlier-turn-left-out-of-its-optimizer": "every-parameter-learns",
    "a-lightning-schedule-of-the-number-of-updates-that-moves-once-a-pass": "scheduler-per-update",
    "classes-that-a-network-ends-with-a-softmax-for": "loss-gets-what-it-takes",
    "rows-in-pieces-of-a-size-whose-losses-add-up": "accumulation-equals-large-batch",
    "each-loss-weighed-on-its-own-and-nothing-divided": "accumulation-equals-large-batch",
    "one-mean-of-all-rows-times-the-weight-of-each": "loss-gets-what-it-takes",
    "two-tasks-from-two-loaders-each-clipped": "clip-once-per-update",
    "parameters-thawed-by-the-beginning-of-their-names-that-no-optimizer-holds": "every-parameter-learns",
    "a-fabric-on-four-devices-skips-the-exchange-of-the-last": "ranks-agree",
    "a-norm-asked-for-and-the-norms-of-parts-summed-up": "measurement-is-fair",
    "the-norm-before-a-clip-asked-for-and-measured-behind-it": "measurement-is-fair",
    "batch-norm-that-is-frozen-once-before-the-passes": "training-mode-kept",
    "an-update-skipped-for-its-norm-and-never-cleared": "gradients-start-fresh",
    "a-loop-shown-anew-beside-a-posted-schedule-of-micro-batches": "scheduler-per-update",
    "a-whole-norm-asked-for-and-each-entry-clipped": "clip-global-norm",
    "every-sample-asked-for-in-each-pass-and-a-rest-cleared": "no-batch-lost",
    "a-batch-that-is-cut-into-four-parts-that-add-up": "accumulation-equals-large-batch",
    "a-lightning-module-whose-schedule-of-updates-moves-once-a-pass": "scheduler-per-update",
    "a-model-of-its-own-whose-closure-never-clears": "gradients-start-fresh",
    "two-optimizers-of-one-loss-whose-scale-moves-between": "scaler-protocol",
    "methods-without-their-class-that-divide-nothing": "accumulation-equals-large-batch",
    "what-each-turn-computes-forgets-the-last-short-window": "ranks-agree",
    "a-class-that-leaves-accumulation-out-by-default-and-divides-nothing": "accumulation-equals-large-batch",
    "entries-of-a-detached-gradient-that-are-limited-for-nobody": "statements-take-effect",
    "a-loop-that-evaluates-without-arguments-and-adds-its-losses-up": "accumulation-equals-large-batch",
    "three-places-of-the-posted-loop-whose-losses-add-up": "accumulation-equals-large-batch",
    "lines-under-a-remark-at-the-margin-that-divide-nothing": "accumulation-equals-large-batch",
    "a-class-that-keeps-two-networks-and-never-clears": "gradients-start-fresh",
    "texts-packed-by-their-lengths-stepped-past-the-scaler": "scaler-protocol",
    "a-list-of-micro-batches-in-each-turn-never-synchronised": "ranks-agree",
    "a-network-of-two-inputs-whose-scaler-moves-each-batch": "scaler-protocol",
    "batches-left-over-and-divided-as-a-full-window": "accumulation-equals-large-batch",
    "labels-that-are-smoothed-and-losses-that-add-up": "accumulation-equals-large-batch",
    "a-loop-shown-anew-that-thaws-what-the-posted-optimizer-has-not": "every-parameter-learns",
    "a-loss-over-spoken-texts-whose-clip-is-scaled": "unscaled-norm",
    "a-method-under-an-import-at-the-margin-that-talks-first": "ranks-agree",
    "a-new-method-beside-the-one-that-calls-it-without-its-graph": "every-parameter-learns",
    "names-from-modules-that-only-the-reader-has-and-a-clip-too-late": "clip-before-step",
    "a-rest-asked-to-be-its-mean-and-divided-by-a-full-window": "accumulation-equals-large-batch",
    "a-rest-asked-to-be-used-and-left": "no-batch-lost",
    "a-whole-norm-asked-for-and-each-tensor-clipped": "clip-global-norm",
    "each-token-asked-alike-and-the-mean-of-means": "accumulation-equals-large-batch",
    "each-token-of-all-ranks-asked-alike-and-averaged-over-them-again": "ranks-agree",
    "each-token-of-all-ranks-asked-alike-and-the-mean-of-each-rank": "accumulation-equals-large-batch",
    "no-clip-wanted-and-one-made": "training-unchanged",
    "two-losses-of-an-output-that-are-not-divided": "accumulation-equals-large-batch",
    "weights-of-two-losses-that-no-optimizer-holds": "every-parameter-learns",
    "a-fabric-beside-a-model-that-nobody-shows-and-never-clears": "gradients-start-fresh",
    "a-frozen-model-of-a-zoo-beside-one-that-is-never-cleared": "gradients-start-fresh",
    "a-closure-over-all-training-data-that-never-clears": "gradients-start-fresh",
    "one-graph-that-is-trained-on-as-a-whole-and-never-cleared": "gradients-start-fresh",
    "a-state-that-the-model-begins-and-that-is-never-detached": "gradients-start-fresh",
    "an-attack-on-rows-that-are-lent-whose-gradients-stay": "gradients-start-fresh",
    "a-class-whose-constructor-nobody-shows-and-that-never-clears": "gradients-start-fresh",
    "a-frozen-network-that-measures-without-a-graph": "every-parameter-learns",
    "two-networks-over-an-iterator-of-which-one-is-never-cleared": "gradients-start-fresh",
    "a-captioner-whose-loss-is-divided-beside-accelerate": "accumulation-equals-large-batch",
    "two-towers-of-which-one-is-clipped-scaled": "unscaled-norm",
    "gradients-that-are-measured-once-they-were-cleared": "statements-take-effect",
    "limits-of-parts-kept-with-iterators-of-their-parameters": "statements-take-effect",
    "the-micro-batches-of-one-update-as-a-list-that-pile-up": "gradients-start-fresh",
    "the-micro-batches-of-one-update-as-a-list-wiped-between": "accumulation-not-wiped",
    "a-schedule-of-the-optimizer-before-that-moves-once": "scheduler-per-update",
    "a-second-run-that-takes-up-the-first-without-its-moments": "resume-goes-on",
    "a-mean-of-ones-own-divided-by-the-ranks-that-average": "ranks-agree",
    "a-clip-that-is-pasted-alone-and-blows-small-gradients-up": "clip-inactive-when-small",
    "a-teacher-that-is-a-shallow-copy-of-its-pupil": "training-mode-kept",
    "a-clip-over-the-square-of-the-norm": "clip-global-norm",
    "a-clip-by-the-norm-that-a-loop-left-last": "clip-global-norm",
    "a-clip-by-the-norm-of-the-first-group-of-parameters": "clip-global-norm",
    "parameters-that-the-norm-of-a-clip-used-up": "statements-take-effect",
    "a-gradient-that-is-bound-anew-and-lost": "statements-take-effect",
    "masters-whose-gradients-pile-up": "gradients-start-fresh",
    "pairs-whose-loss-is-divided-by-a-window-twice": "accumulation-equals-large-batch",
    "a-loss-divided-by-a-literal-number-of-ranks-that-average": "ranks-agree",
    "a-batch-called-data-that-is-clipped-after-its-step": "clip-before-step",
    "an-average-that-rebinds-the-name-of-its-loop": "statements-take-effect",
    "a-plateau-that-waits-for-the-best-that-is-kept-to-fall": "scheduler-per-update",
    "a-warm-up-in-updates-that-is-moved-once-a-pass": "scheduler-per-update",
    "a-difference-of-one-column-and-a-row-by-hand": "loss-gets-what-it-takes",
    "a-state-of-whose-names-the-model-has-none": "training-mode-kept",
    "a-plateau-that-waits-for-an-accuracy-to-fall": "scheduler-per-update",
    "a-function-of-the-step-that-returns-the-rate-itself": "scheduler-per-update",
    "a-warm-up-that-gives-all-groups-one-rate": "scheduler-per-update",
    "two-low-rank-factors-that-are-both-zero": "every-parameter-learns",
    "a-state-that-is-cut-off-at-each-time-step": "loss-gets-what-it-takes",
    "an-average-of-parameters-with-the-statistics-of-none": "training-mode-kept",
    "torchs-average-evaluated-with-old-statistics": "training-mode-kept",
    "a-surrogate-that-takes-the-larger-product": "loss-gets-what-it-takes",
    "an-entropy-that-is-added-to-a-policys-loss": "loss-gets-what-it-takes",
    "a-domain-loss-subtracted-behind-a-reversal": "loss-gets-what-it-takes",
    "a-script-that-never-goes-backward": "every-parameter-learns",
    "a-flag-in-vain-in-a-stage-that-takes-it-back-in-time": "every-parameter-learns",
    "an-update-of-a-batch-of-a-memory-that-clears-before-it-steps": "every-parameter-learns",
    "best-weights-that-were-kept-without-a-copy": "training-mode-kept",
    "a-resumed-run-that-forgets-the-memory-of-one-of-two-optimizers": "resume-goes-on",
    "a-resumed-run-that-forgets-its-moments": "resume-goes-on",
    "a-resumed-run-whose-schedule-begins-anew": "resume-goes-on",
    "a-resumed-run-whose-schedule-counts-epochs-and-moves-each-step": "resume-goes-on",
    "a-resumed-run-whose-step-begins-anew": "resume-goes-on",
    "a-resumed-run-whose-model-is-made-after-its-optimizer": "resume-goes-on",
    "a-resumed-run-whose-optimizer-is-made-after-its-state-was-loaded": "resume-goes-on",
    "a-run-that-is-told-what-to-resume-from-and-forgets-its-moments": "resume-goes-on",
    "a-resumed-trainer-that-saved-its-weights-and-epoch-alone": "resume-goes-on",
    "a-resumed-trainer-whose-schedule-begins-anew": "resume-goes-on",
    "a-run-that-takes-itself-up-without-its-moments": "resume-goes-on",
    "a-long-schedule-of-an-optimizer-that-was-made-anew": "scheduler-per-update",
    "a-schedule-that-nothing-moves": "scheduler-per-update",
    "a-bootstrapped-target-over-a-replay-memory-that-is-not-shown": "loss-gets-what-it-takes",
    "a-bootstrapped-target-of-the-network-that-is-trained": "loss-gets-what-it-takes",
    "a-code-that-torch-normal-drew": "loss-gets-what-it-takes",
    "a-penalty-on-data-of-weights-under-an-adaptive-optimizer": "every-parameter-learns",
    "an-evaluation-in-the-midst-of-a-pass-that-comes-late": "training-mode-kept",
    "a-teacher-that-learns-from-its-pupil-alone": "loss-gets-what-it-takes",
    "dropout-by-a-function-that-stays-off-after-an-evaluation": "training-mode-kept",
    "an-entropy-that-is-added-as-a-plain-number": "every-parameter-learns",
    "a-flag-in-vain-in-a-second-stage-by-the-same-function": "every-parameter-learns",
    "a-clip-of-torchs-own-on-a-model-that-is-sharded-by-a-wrapper": "clip-global-norm",
    "an-optimizer-holds-what-its-model-had-before-it-was-sharded": "every-parameter-learns",
    "losses-of-a-trainer-that-nobody-divides-for-a-model-that-takes-their-count": (
        "accumulation-equals-large-batch"
    ),
    "a-function-that-clips-before-it-averages-over-the-ranks": "clip-global-norm",
    "a-hook-that-clips-scaled-gradients-of-a-trainer-that-nobody-starts": "unscaled-norm",
    "windows-that-nobody-divides-in-a-pass-as-long-as-asserted": "accumulation-equals-large-batch",
    "what-was-frozen-is-moved-on-by-momentum": "every-parameter-learns",
    "gradients-of-a-bad-batch-that-stay-until-the-next-pass": "gradients-start-fresh",
    "what-a-generator-left-in-a-critic-whose-data-nobody-shows": "gradients-start-fresh",
    "gradients-that-a-step-keeps-whose-parts-nobody-shows": "gradients-start-fresh",
    "a-code-that-is-drawn-by-sample-and-trains-no-encoder": "loss-gets-what-it-takes",
    "gradients-that-are-kept-under-a-loss-on-shares": "gradients-start-fresh",
    "gradients-that-are-kept-over-rows-of-one-number": "gradients-start-fresh",
    "what-a-critic-left-in-a-generator-at-the-end-of-each-pass": "gradients-start-fresh",
    "a-clip-that-was-copied-and-still-names-the-part-before": "clip-per-group",
    "weights-of-samples-times-the-mean-of-their-losses": "loss-gets-what-it-takes",
    "weights-of-samples-in-a-column-times-losses-in-a-row": "loss-gets-what-it-takes",
    "what-another-loss-left-in-half-of-a-network": "gradients-start-fresh",
    "a-generator-that-is-judged-on-rows-out-of-its-graph": "every-parameter-learns",
    "a-frozen-network-that-is-put-back-into-training": "training-mode-kept",
    "a-loss-that-is-computed-and-never-goes-back": "every-parameter-learns",
    "a-clip-of-each-micro-batch-over-rows-that-were-lent": "clip-once-per-update",
    "a-method-behind-the-back-of-the-wrapper-that-synchronises": "ranks-agree",
    "a-part-that-thaws-after-three-of-the-readers-passes-and-that-nothing-holds": (
        "every-parameter-learns"
    ),
    "a-head-that-is-exchanged-behind-an-optimizer-of-the-old-one": "every-parameter-learns",
    "a-penalty-without-a-graph-on-a-critic-of-the-reader": "every-parameter-learns",
    "a-schedule-of-a-library-that-is-not-imported-counts-micro-batches": "scheduler-per-update",
    "a-bad-batch-that-spoils-the-rest-beside-a-late-thaw": "gradients-start-fresh",
    "local-sums-over-a-count-of-all-ranks-under-ddp": "ranks-agree",
    "a-rank-that-skips-a-bad-batch-alone": "ranks-agree",
    "a-factor-of-limit-over-norm-that-is-never-held-at-one": "clip-inactive-when-small",
    "a-clipped-ratio-of-a-policy-multiplies-an-advantage-in-the-graph": "loss-gets-what-it-takes",
    "an-advantage-in-the-graph-trains-the-critic-by-the-loss-of-the-policy": (
        "loss-gets-what-it-takes"
    ),
    "parameters-that-ask-for-a-gradient-from-a-late-pass-on-and-that-nothing-holds": (
        "every-parameter-learns"
    ),
    "milestones-in-passes-of-a-schedule-that-moves-with-every-update": "scheduler-per-update",
    "a-length-in-passes-of-a-schedule-that-moves-with-every-update": "scheduler-per-update",
    "a-length-in-updates-of-a-schedule-that-moves-once-a-pass": "scheduler-per-update",
    "a-length-in-micro-batches-of-a-schedule-that-moves-with-every-update": "scheduler-per-update",
    "a-penalty-on-weights-that-were-taken-out-of-the-graph": "every-parameter-learns",
    "a-second-loss-that-is-computed-without-gradient": "every-parameter-learns",
    "a-division-by-another-count-than-that-of-the-step": "one-update-per-window",
    "means-of-its-own-that-a-trainer-adds-up": "accumulation-equals-large-batch",
    "sums-divided-by-the-tokens-of-each-batch-alone": "accumulation-equals-large-batch",
    "an-average-whose-digits-are-too-few": "training-mode-kept",
    "a-penalty-that-each-micro-batch-adds-whole": "accumulation-equals-large-batch",
    "a-half-whose-loss-scale-is-in-the-norm-of-both": "unscaled-norm",
    "a-flag-that-was-set-on-a-module-freezes-nothing": "every-parameter-learns",
    "a-flag-whose-name-is-misspelt-freezes-nothing": "every-parameter-learns",
    "layers-that-no-optimizer-of-training-that-is-not-shown-holds": "every-parameter-learns",
    "minibatches-of-a-rollout-that-share-their-gradients": "gradients-start-fresh",
    "a-graph-that-is-carried-over": "gradients-start-fresh",
    "a-schedule-that-is-moved-past-its-end-by-micro-batches": "scheduler-per-update",
    "a-skipped-batch-that-joins-two-windows": "one-update-per-window",
    "a-state-that-is-carried-on-with-its-graph": "gradients-start-fresh",
    "a-sum-of-micro-batches-whose-next-batch-is-fetched-ahead": "accumulation-equals-large-batch",
    "ranks-that-step-on-what-was-not-synchronised": "ranks-agree",
    "training-that-goes-on-in-evaluation-mode": "training-mode-kept",
    "names-in-letters-of-full-width-are-the-same-names": "clip-once-per-update",
    "gradients-that-are-clamped-into-tensors-that-nobody-takes": "statements-take-effect",
    "a-loss-that-is-divided-into-nothing": "statements-take-effect",
    "an-evaluation-that-is-named-and-not-called": "statements-take-effect",
    "half-precision-that-is-made-and-not-entered": "statements-take-effect",
    "a-bad-batch-that-equality-with-nan-was-to-skip": "statements-take-effect",
    "a-rest-that-an-index-behind-the-end-was-to-step": "statements-take-effect",
}
LACKS = {
    "a-loss-that-is-divided-above-or-not": "stands above what is shown",
    "a-step-that-is-shown-as-a-remark-on-a-lent-model": "shows no loss that goes backward",
    "ranks-with-unlike-numbers-of-batches-that-join": "after the last update",
    "weights-that-are-bounded-through-a-state-that-is-loaded": "something else than an optimizer moved",
    "a-script-whose-optimizer-nobody-shows": "needs lab, which is not here",
    "a-step-and-its-schedule-alone": "shows no loss that goes backward",
    "a-step-before-an-average-whose-loss-nobody-shows": "shows no loss that goes backward",
    "a-backward-whose-model-loss-and-step-nobody-shows": "makes no optimizer step itself",
    "a-model-that-is-shown-and-cuts-its-encoder-off": "encoder.0.bias had no gradient",
    "a-model-of-tokens-that-is-shown-and-cuts-its-states-off": "had no gradient in 28 steps",
    "a-model-is-of-the-class-that-is-shown-and-whose-method-is-called": "encoder.weight, encoder.bias had no gradient",
    "a-layer-that-is-called-beside-its-copies-and-cut-off": "had no gradient in 12 steps",
    "a-codebook-that-is-detached-in-both-of-its-losses": "weight had no gradient in 20 steps",
    "ranks-that-train-apart-and-average-their-weights": "something else than an optimizer moved",
    "windows-of-unlike-sizes-are-single-batches-taken-apart": "not because of how micro-batches",
    "windows-that-end-with-a-budget-of-tokens": "end by another measure",
    "noise-on-gradients-of-single-samples-is-no-older-window": "could be taken apart",
    "weights-that-are-shaken-once-behind-an-update": "of its size between updates 4 and 5",
    "training-by-hand-before-the-first-update": "of its size before the first update",
    "another-model-that-is-made-of-the-readers-beside-its-optimizer": "where the optimizer is built",
    "a-model-that-is-exchanged-beside-the-optimizer-of-the-reader": "where the optimizer is built",
    "a-loss-that-is-told-to-have-a-gradient": "a loss is told to have one",
    "what-only-looks-at-gradients-is-not-accused": "It makes no optimizer step itself",
    "what-is-restored-for-training-that-is-not-shown": "show the function that trains",
    "which-part-each-of-two-optimizers-has-is-asked-for": (
        "`opt_main`: it is one of 2 for one model"
    ),
}
LARGE = """
```python
model = nn.Sequential(nn.Linear(900, 900), nn.Tanh(), nn.Linear(900, 900), nn.Tanh(), nn.Linear(900, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(16, 900) * 2.0**step
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
```
"""
WARM_UP = """
```python
from transformers import Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out", gradient_accumulation_steps=4, max_grad_norm=0.5, warmup_ratio=0.1
)
trainer = Trainer(model=model, args=args, train_dataset=train_ds)
trainer.train()
```
"""
EVALUATED_WHOLE = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(6, 8), LAYER, nn.Linear(8, 2))
data = [(torch.randn(8, 6), torch.randint(0, 2, (8,))) for _ in range(6)]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum((model(x).argmax(1) == y).sum().item() for x, y in data))
"""


def claims(label):
    return sorted(file.stem for file in (PIECES / label).iterdir())


@pytest.fixture(scope="module")
def lines(request, graded):
    """What is said of each piece that a test asks about."""
    claims = asked(request, "claim")
    files = [file for file in sorted(PIECES.rglob("*.md")) if file.stem in claims]
    return {f.stem: line for f, line in zip(files, graded(*files)[1], strict=True)}


@pytest.mark.parametrize("claim", claims("right"))
def test_right(lines, claim):
    assert lines[claim]["code"] == "right", lines[claim]["why"]


@pytest.mark.parametrize("claim", claims("wrong"))
def test_wrong(lines, claim):
    assert FAILS[claim] in lines[claim]["failed"], lines[claim]["why"]


@pytest.mark.parametrize("claim", claims("inconclusive"))
def test_inconclusive_with_the_one_thing_to_add(lines, claim):
    assert lines[claim]["code"] not in ("right", "wrong")
    assert LACKS[claim] in " ".join(lines[claim]["why"])


UNSHOWN = """
```python
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(num_epochs):
    train_one_epoch(model, train_loader, optimizer)
```
"""


def test_no_scenario_accuses_training_that_is_not_shown(graded, tmp_path):
    file = written(tmp_path, "unshown.md", UNSHOWN)
    _, (line,) = graded("--scenario", "clip-after-step", file)
    assert line["code"] == "inconclusive", line["why"]


@pytest.mark.full
def test_a_large_model_is_clipped_at_its_true_norm(graded, tmp_path):
    _, (line,) = graded(written(tmp_path, "large.md", LARGE))
    assert line["code"] == "right", line["why"]


@pytest.mark.full
def test_a_warm_up_by_a_part_of_all_steps_is_one_in_every_version_of_the_trainer(graded, tmp_path):
    pytest.importorskip("transformers")
    _, (line,) = graded(written(tmp_path, "trainer.md", WARM_UP))
    assert line["code"] == "right", line["why"]


@pytest.fixture(scope="module")
def evaluated(request, graded, tmp_path_factory):
    """Codes of a script that never returns to training mode, by the layer in its midst."""
    folder = tmp_path_factory.mktemp("evaluated")
    layers = sorted(asked(request, "layer"))
    text = EVALUATED_WHOLE.replace
    files = [written(folder, f"{i}.py", text("LAYER", layer)) for i, layer in enumerate(layers)]
    return dict(zip(layers, (line["code"] for line in graded(*files)[1]), strict=True))


LIKE_BEFORE = ("nn.Tanh()", "nn.Dropout(0.0)", "nn.BatchNorm1d(8, track_running_stats=False)")
OTHERWISE = ("nn.Dropout(0.5)", "nn.BatchNorm1d(8)")


@pytest.mark.parametrize("layer", LIKE_BEFORE)
def test_evaluation_mode_is_no_fault_where_no_layer_works_differently_in_it(evaluated, layer):
    assert evaluated[layer] == "right"


@pytest.mark.parametrize("layer", OTHERWISE)
def test_evaluation_mode_is_a_fault_of_a_model_with_a_layer_that_works_differently(
    evaluated, layer
):
    assert evaluated[layer] == "wrong"
