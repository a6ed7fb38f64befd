#!/usr/bin/env python
from __future__ import annotations

import argparse
import logging
from typing import Iterable

import torch
from torch import Tensor, nn

logger = logging.getLogger(__name__)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-norm", type=float, default=1.5, help="about five times the ordinary norm (0.31)")
    return parser.parse_args(argv)


def train_step(x: Tensor, y: Tensor, *, max_norm: float) -> tuple[float, float]:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item(), float(norm)


def main(batches: Iterable[tuple[Tensor, Tensor]], args: argparse.Namespace) -> None:
    for step, (x, y) in enumerate(batches):
        loss, norm = train_step(x, y, max_norm=args.max_norm)
        logger.info("step %d loss %.4f norm %.3f%s", step, loss, norm, " clipped" if norm > args.max_norm else "")


if __name__ == "__main__":
    main(train_loader, parse([]))
