# MAML, few-shot sine regression
import argparse, math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SineTasks:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def _u(self, lo, hi, *shape):
        return torch.rand(*shape, generator=self.g) * (hi - lo) + lo

    def task(self, k_sup, k_qry):
        amp, phase = self._u(0.1, 5.0, 1), self._u(0.0, math.pi, 1)
        x = self._u(-5.0, 5.0, k_sup + k_qry, 1)
        y = amp * torch.sin(x - phase)
        return x[:k_sup], y[:k_sup], x[k_sup:], y[k_sup:]


class Net(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(1, h), nn.Linear(h, h), nn.Linear(h, 1)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


def adapt(net, xs, ys, lr, steps, second_order):
    fast = OrderedDict(net.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, fast, (xs,)), ys)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second_order)
        fast = OrderedDict((n, w - lr * g) for (n, w), g in zip(fast.items(), grads))
    return fast


def evaluate(net, args, n_tasks=100):
    tasks = SineTasks(seed=999)
    before = after = 0.0
    for _ in range(n_tasks):
        xs, ys, xq, yq = tasks.task(args.k, 50)
        fast = adapt(net, xs, ys, args.inner_lr, args.test_steps, second_order=False)
        with torch.no_grad():
            before += F.mse_loss(net(xq), yq).item()
            after += F.mse_loss(functional_call(net, fast, (xq,)), yq).item()
    return before / n_tasks, after / n_tasks


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--k', type=int, default=10)
    ap.add_argument('--meta-batch', type=int, default=25)
    ap.add_argument('--iters', type=int, default=20000)
    ap.add_argument('--inner-lr', type=float, default=0.01)
    ap.add_argument('--inner-steps', type=int, default=1)
    ap.add_argument('--test-steps', type=int, default=5)
    ap.add_argument('--outer-lr', type=float, default=1e-3)
    ap.add_argument('--hidden', type=int, default=40)
    ap.add_argument('--log', type=int, default=500)
    ap.add_argument('--save', default='maml.pt')
    args = ap.parse_args()

    torch.manual_seed(0)
    net = Net(args.hidden)
    opt = torch.optim.Adam(net.parameters(), lr=args.outer_lr)
    tasks = SineTasks(seed=1)
    ema = None

    for it in range(1, args.iters + 1):
        opt.zero_grad()
        total = 0.0
        for _ in range(args.meta_batch):
            xs, ys, xq, yq = tasks.task(args.k, args.k)
            fast = adapt(net, xs, ys, args.inner_lr, args.inner_steps, second_order=True)
            qloss = F.mse_loss(functional_call(net, fast, (xq,)), yq)
            (qloss / args.meta_batch).backward()
            total += qloss.item() / args.meta_batch
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        opt.step()

        ema = total if ema is None else 0.98 * ema + 0.02 * total
        if it % args.log == 0:
            b, a = evaluate(net, args)
            print(f'{it:6d} | meta loss {ema:.3f} | test before {b:.3f} after {a:.3f}')
            torch.save({'net': net.state_dict(), 'opt': opt.state_dict(), 'it': it}, args.save)


if __name__ == '__main__':
    main()
