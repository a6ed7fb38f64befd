"""Deep ensemble for uncertainty, trained with torch.func: E members at once, plain SGD on parameter trees."""
import torch
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch import nn

E = 5
ACC = 3
UPDATES = 120
MICRO = 16
LR = 0.05


def net():
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))


def target(x):
    return torch.sin(3 * x) + 0.3 * x


def data(n):
    x = torch.cat([torch.rand(n // 2, 1) * 1.2 - 2, torch.rand(n - n // 2, 1) * 1.2 + 0.8])
    return x, target(x) + (0.05 + 0.1 * x.abs()) * torch.randn_like(x)


def tree_zeros(params):
    return {k: torch.zeros_like(v) for k, v in params.items()}


def tree_add(a, b, scale=1.0):
    return {k: a[k] + scale * b[k] for k in a}


def main():
    torch.manual_seed(0)
    base = net().to("meta")
    params, buffers = stack_module_state([net() for _ in range(E)])
    params = {k: v.detach() for k, v in params.items()}

    def nll(p, b, x, y):
        mean, logvar = functional_call(base, (p, b), (x,)).chunk(2, dim=-1)
        logvar = logvar.clamp(-6, 4)
        return 0.5 * (logvar + (y - mean) ** 2 / logvar.exp()).mean()

    grads_fn = vmap(grad_and_value(nll), in_dims=(0, 0, 0, 0))
    x, y = data(512)
    acc = tree_zeros(params)
    running = 0.0
    for step in range(1, UPDATES * ACC + 1):
        idx = torch.randint(len(x), (E, MICRO))
        g, loss = grads_fn(params, buffers, x[idx], y[idx])
        acc = tree_add(acc, g, 1.0 / ACC)
        running += loss.mean().item()
        if step % ACC == 0:
            params = tree_add(params, acc, -LR)
            update = step // ACC
            if update % 30 == 0:
                print(f"update {update}: nll {running / (30 * ACC):.4f}")
                running = 0.0

    grid = torch.linspace(-2.5, 2.5, 11).unsqueeze(1)
    out = vmap(lambda p, b: functional_call(base, (p, b), (grid,)))(params, buffers)
    mean, spread = out[..., 0].mean(0), out[..., 0].std(0)
    for g, m, s in zip(grid.squeeze(1).tolist(), mean.tolist(), spread.tolist()):
        print(f"x {g:+.1f}  target {target(torch.tensor(g)):+.2f}  mean {m:+.2f}  spread {s:.2f}")


if __name__ == "__main__":
    main()
