"""
Physics-informed net for u'' = -pi^2 sin(pi x), u(0)=u(1)=0.
Adam warm start followed by L-BFGS.
"""
import torch
import torch.nn as nn

torch.manual_seed(42)
torch.set_default_dtype(torch.float64)

net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
x_f = torch.linspace(0, 1, 64).reshape(-1, 1).requires_grad_(True)
x_b = torch.tensor([[0.0], [1.0]])


def residual(x):
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]
    return d2u + torch.pi ** 2 * torch.sin(torch.pi * x.detach())


def objective():
    return residual(x_f).pow(2).mean() + 100 * net(x_b).pow(2).mean()


adam = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(200):
    adam.zero_grad()
    loss = objective()
    loss.backward()
    adam.step()
print('after adam', loss.item())

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=100, history_size=20, line_search_fn='strong_wolfe')


def closure():
    loss = objective()
    loss.backward()
    return loss


for outer in range(3):
    loss = lbfgs.step(closure)
    print('lbfgs', outer, loss.item())

xt = torch.linspace(0, 1, 11).reshape(-1, 1)
with torch.no_grad():
    print('max err', (net(xt) - torch.sin(torch.pi * xt)).abs().max().item())
