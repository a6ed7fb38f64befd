# Physics-informed net for u'' + u = 0 on [0, 2*pi], u(0) = 0, u'(0) = 1  (solution: sin x)
# First Adam, then L-BFGS to polish.
import math

import torch
import torch.nn as nn

torch.manual_seed(1)
torch.set_num_threads(1)          # tiny net, threads only cost time here
torch.set_default_dtype(torch.float64)

# %% network
net = nn.Sequential(
    nn.Linear(1, 20), nn.Tanh(),
    nn.Linear(20, 20), nn.Tanh(),
    nn.Linear(20, 1),
)

x_col = torch.linspace(0.0, 2 * math.pi, 64).unsqueeze(1).requires_grad_(True)
x0 = torch.zeros(1, 1, requires_grad=True)


# %% loss
def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def pinn_loss():
    u = net(x_col)
    du = derivative(u, x_col)
    ddu = derivative(du, x_col)
    residual = (ddu + u).pow(2).mean()

    u0 = net(x0)
    du0 = derivative(u0, x0)
    initial = u0.pow(2).mean() + (du0 - 1.0).pow(2).mean()
    return residual + 10.0 * initial


def max_error():
    with torch.no_grad():
        x = torch.linspace(0.0, 2 * math.pi, 500).unsqueeze(1)
        return (net(x) - torch.sin(x)).abs().max().item()


# %% stage 1: Adam
adam = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(400):
    adam.zero_grad()
    loss = pinn_loss()
    loss.backward()
    adam.step()
    if it % 100 == 0:
        print(f"adam {it:4d}  loss {loss.item():.3e}  err {max_error():.3e}")

# %% stage 2: L-BFGS
lbfgs = torch.optim.LBFGS(
    net.parameters(),
    lr=1.0,
    max_iter=20,
    history_size=50,
    line_search_fn="strong_wolfe",
    tolerance_grad=1e-10,
    tolerance_change=1e-14,
)


def closure():
    loss = pinn_loss()
    loss.backward()
    return loss


for it in range(12):
    lbfgs.zero_grad()
    loss = lbfgs.step(closure)
    if it % 3 == 2:
        print(f"lbfgs {it:3d}  loss {loss.item():.3e}  err {max_error():.3e}")

print(f"final error {max_error():.3e}")
