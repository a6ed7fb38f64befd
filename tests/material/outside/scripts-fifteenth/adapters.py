"""Tiny LoRA toolbox shared by the fine-tuning scripts."""
import torch
from torch import nn


def lora_parameters(model):
    for n, p in model.named_parameters():
        if "lora_" in n:
            yield p


def replace_linears(module, make, skip=()):
    for name, child in list(module.named_children()):
        if name in skip:
            continue
        if type(child) is nn.Linear:
            setattr(module, name, make(child))
        else:
            replace_linears(child, make, skip)


def count(params):
    return sum(p.numel() for p in params)
