"""Which packages only watch: they are stood in for, installed or not. Without torch."""

WATCHING = frozenset({
    "evaluate", "wandb", "mlflow", "tensorboard", "tensorboardX", "comet_ml", "neptune", "clearml",
    "aim", "swanlab", "trackio", "dvclive", "sacred", "visdom", "matplotlib", "seaborn",
    "plotly", "rich", "colorama", "colorlog", "coloredlogs", "termcolor", "loguru", "icecream",
    "psutil", "pynvml", "GPUtil", "nvidia_smi", "gpustat", "prettytable", "tabulate", "torchinfo",
    "torchsummary", "torchviz", "thop", "fvcore", "ptflops", "imageio", "moviepy", "IPython",
    "ipdb", "pudb", "dotenv", "line_profiler", "beartype", "typeguard", "jaxtyping", "submitit",
    "progressbar", "humanize", "setproctitle", "codecarbon", "lovely_tensors", "pytz",
    "tensorboard_logger", "mpl_toolkits", "bokeh", "altair", "plotnine", "livelossplot",
    "torcheval", "sacrebleu", "rouge_score", "rouge", "jiwer", "seqeval", "bert_score", "pycocoevalcap",
    "pytorch_fid", "torch_fidelity", "cleanfid", "pytorch_gan_metrics", "editdistance", "Levenshtein",
    "mir_eval", "pesq", "pystoi",
})  # fmt: skip
"""Packages that only log, show, or measure: the machine, or how good a result is."""

STOOD_IN = WATCHING | {"torchvision", "timm"}
"""Packages that a fragment may import though they are not here: these only watch, or something small
stands in for them.
"""
