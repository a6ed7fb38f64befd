# No higher learning rate. The mean over the window is taken twice: once in the loss, once on the
# gradients. One of them has to go; here it is the one on the gradients. The rate is the one that
# was right without accumulation.
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--accumulation-steps", type=int, default=4)
args, _ = parser.parse_known_args([])


@torch.no_grad()
def apply_update():
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def share(x, y, n: int) -> torch.Tensor:
    """Loss of a micro-batch as its share in a window of n."""
    return criterion(model(x), y) / n


try:
    for i, (x, y) in enumerate(train_loader, start=1):
        share(x, y, args.accumulation_steps).backward()
        if i % args.accumulation_steps == 0:
            apply_update()
finally:
    optimizer.zero_grad(set_to_none=True)   # drop an incomplete window
