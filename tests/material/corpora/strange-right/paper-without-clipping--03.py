"""Reimplementation with clipping as a switch: --max-norm inf is the paper, 1.0 is what trains."""
import argparse

import torch

try:
    import wandb
except ImportError:
    wandb = None


def parse_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-norm", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=num_epochs)
    parser.add_argument("--log-every", type=int, default=1)
    return parser.parse_args(argv)


def log(**values):
    if wandb is not None and wandb.run is not None:
        wandb.log(values)
    else:
        print("  ".join(f"{k}={v:.4g}" for k, v in values.items()))


def train_step(x, y, max_norm):
    optimizer.zero_grad(set_to_none=True)
    try:
        loss = criterion(model(x), y)
        loss.backward()
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        raise
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item(), norm.item()


def epochs(left, args):
    if left == 0:
        return
    for step, (x, y) in enumerate(train_loader):
        loss, norm = train_step(x, y, args.max_norm)
        if step % args.log_every == 0:
            log(epoch=args.epochs - left, loss=loss, grad_norm=norm)
    epochs(left - 1, args)


def main():
    args = parse_args()
    epochs(args.epochs, args)


if __name__ == "__main__":
    main()
