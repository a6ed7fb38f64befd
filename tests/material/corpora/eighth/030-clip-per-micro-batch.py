import argparse

import torch


def global_clip_(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    norms = torch._foreach_norm(grads)
    total = torch.linalg.vector_norm(torch.stack(norms))
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / total)
    return total


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation-steps", type=int, default=4)
    parser.add_argument("--max-norm", type=float, default=1.0)
    args = parser.parse_args(argv)

    params = list(model.parameters())
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / args.accumulation_steps).backward()
        if (i + 1) % args.accumulation_steps == 0:
            norm = global_clip_(params, args.max_norm)
            optimizer.step()
            optimizer.zero_grad()
            print(f"update {(i + 1) // args.accumulation_steps}: norm {norm:.3f}")


main([])
