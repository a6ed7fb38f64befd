"""Accumulation with validation in the middle of an epoch. Your zero_grad() at the top wiped the window."""

import argparse
import logging

import torch

logger = logging.getLogger("train")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation-steps", type=int, default=4)
    parser.add_argument("--eval-every", type=int, default=3, help="in micro-batches")
    return parser.parse_args()


@torch.no_grad()
def validate(net, loader, loss_fn, batches=2):
    was_training = net.training
    net.eval()
    losses = []
    for n, (x, y) in enumerate(loader):
        if n == batches:
            break
        losses.append(loss_fn(net(x), y).item())
    net.train(was_training)
    return sum(losses) / len(losses)


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO)
    model.train()
    total = len(train_loader)
    optimizer.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(train_loader):
        begin = i // args.accumulation_steps * args.accumulation_steps
        size = min(args.accumulation_steps, total - begin)
        loss = criterion(model(x), y)
        (loss / size).backward()
        if (i + 1) % args.eval_every == 0:
            logger.info("batch %d: validation loss %.4f", i, validate(model, train_loader, criterion))
        if i + 1 == begin + size:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
