"""What names suggest, asked only where usage leaves a choice."""

import functools
import re

PATTERNS: dict[str, str] = {
    "accumulation": (
        r"accum|grad_?acc|n_?acc|micro_?(batches|steps)|steps_per_update"
        r"|update_(every|freq)|virtual|^gas$"
    ),
    "max_norm": (
        r"max_?(grad_?)?norm|clip_?(norm|grad|max|threshold)|grad_?clip|max_?grad"
        r"|^clip(ping)?$|threshold|norm_limit"
    ),
    "clip_value": r"clip_?val|value_clip",
    "epochs": r"epoch",
    "lr": r"^(base_|max_|initial_|peak_)?(lr|learning_?rate|eta|step_size)",
    "weight_decay": r"weight_?decay|^wd$|l2",
    "momentum": r"momentum",
    "interval": (
        r"(log|print|report|eval|save|val|check\w*|monitor|display)_?(every|interval|freq|steps?|n)"
        r"|_every$|_interval$|^every|freq"
    ),
    "batch_size": r"batch_?size|^bs$|^bsz$",
    "outputs": (
        r"n(um)?_?(classes|labels|outputs?|targets)"
        r"|out(put)?_?(dim|size|features|channels)?$|^classes$|^d_?out$"
    ),
    "features": (
        r"in(put)?_?(dim|size|features|channels|shape)|n(um)?_?(features|inputs|channels)|^d_?in$"
    ),
    "latent": r"latent|noise_?(dim|size)|^z_?(dim|size)|^nz$",
    "hidden": r"hidden|^d_?model|width|embed|^dim$|n_?units",
    "vocabulary": r"vocab|n_?tokens|num_?embeddings",
    "length": r"seq(uence)?_?len|max_?len|block_?size|context",
    "depth": r"n(um)?_?(layers|blocks)|depth|^layers$",
    "heads": r"heads",
    "total_steps": (
        r"(total|max|num|n|training)_?(train(ing)?_?)?(steps|updates|iters|iterations|batches)"
        r"|t_max"
    ),
    "warmup": r"warm_?up",
    "steps_per_epoch": r"(steps|updates|batches|iters)_per_epoch|num_batches|n_batches",
    "seed": r"seed",
    "num_workers": r"workers",
    "ignore_index": r"ignore_?(index|id)|pad_?(id|idx|token|index)?|^ignore$",
    "probability": r"dropout|smoothing|^p$|prob",
    "eps": r"^eps(ilon)?$",
    "gamma": r"gamma|decay",
    "betas": r"betas",
    "beta1": r"beta_?1$|^beta$",
    "beta2": r"beta_?2$",
    "patience": r"patience",
    "world_size": r"world_?size|n(um)?_?(gpus|replicas|procs|ranks)|^world$|ngpus",
    "local_rank": r"local_?rank|gpu(_?id)?$|device_?(id|idx|index)",
    "rank": r"rank",
    "step": (
        r"^(global_?)?(step|iteration|iter|it|i|idx|batch_?(idx|i|index)|micro_?step|n_?iter|update|updates)s?$"
    ),
    "epoch": r"^(cur(rent)?_?)?epoch(_?(idx|i))?$|^ep$|start_epoch",
    "best": (
        r"^(best|lowest|highest)_(\w*_)?"
        r"(acc\w*|loss|score|metric|val\w*|f1|ppl|perplexity|psnr|so_far)$"
    ),
    "count": r"(num|n|count)_?\w*(real|valid|tokens|samples|items)|_count$|^count$",
    "target": r"target|label|^y|truth|^gt",
    "mask": r"mask|weight|valid",
    "input": r"input|batch|data|^x|image|feature|sample",
    "output": r"output|logit|pred|^out$|y_?hat",
    "loss": r"loss",
    "model": r"model|net|module|encoder|transformer|resnet|bert|gpt",
    "optimizer": r"^opt|optim|^(adamw?|sgd|muon|lion|lbfgs|rmsprop)$",
    "scheduler": r"sched|warm|lr_",
    "loader": r"loader|_dl$|^dl$|batches|data_?iter|^train_?(data|iter|set)|dataloader|^data$",
    "dataset": r"data_?set|(^|_)ds$|(^|_)(train|valid|val|test)_?data$",
    "validation": r"val|test|dev|eval|holdout",
    "criterion": r"criterion|loss|objective|^fn$",
    "scaler": r"scaler",
    "figure": r"accuracy|(^|_)acc($|_|\d)|metric|score|(^|_)iou|f1|precision|recall|top_?k|psnr",
    "logger": (
        r"log|writer|wandb|tracker|monitor|run$|experiment|meter|timer|callback|^prof|progress|watchdog"
        r"|pbar|bar|history|stats|metric"
    ),
    "effectless": (
        r"log|save|checkpoint|print|report|eval|valid|plot|show|seed|setup|dump|record"
        r"|track|notify|cleanup|check|visual|summar|display"
    ),
    "flag_on": r"amp|fp16|half|mixed|clip|use_|enable|train|sync|shuffle|with_|cuda|gpu",
    "flag_off": (
        r"debug|resume|verbose|dry|test|profile|overfit|compile|deterministic|quiet"
        r"|^no_(?!sync|decay)|^(skip|disable)_"
    ),
    "several_ranks": r"distributed|ddp|multi_?gpu",
    "main_process": r"main|master|rank_?0|is_zero|chief",
    "path": r"path|dir|file|folder|name|root",
    "device": r"device|^dev$",
    "dtype": r"dtype|precision",
    "clips": r"clip|(^|_)agc(_|$)|limit_?(grad|norm)",
    "settings": r"^(cfg|conf|config|args|opts?|hparams|params|flags|hydra)$|config$",
    "fabric": r"fabric",
    "unwrap": r"unwrap|de_?parallel|without_ddp|(raw|bare|inner|core|base)_model|strip_(ddp|parallel)",
    "ema": r"ema|averag|swa",
}

_COMPILED = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}


@functools.lru_cache(4096)
def suggests(name: str, kind: str) -> bool:
    """Whether ``name`` suggests ``kind``."""
    return _COMPILED[kind].search(_snake(name)) is not None


def first(names: list[str], kinds: tuple[str, ...]) -> str | None:
    """The first of ``kinds`` that one of ``names`` suggests, trying the names in order."""
    for name in names:
        for kind in kinds:
            if suggests(name, kind):
                return kind
    return None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
