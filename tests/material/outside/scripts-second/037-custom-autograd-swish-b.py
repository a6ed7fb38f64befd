"""Memory-saving swish with a hand-written backward."""
import torch
from torch import nn


class SwishFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_out * (s + x * (1 - s))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)


def build():
    return nn.Sequential(nn.Linear(4, 24), Swish(), nn.Linear(24, 24), Swish(), nn.Linear(24, 1))


def main():
    torch.manual_seed(0)
    x = torch.rand(200, 4) * 4 - 2
    y = (x[:, :1] * x[:, 1:2]).sin()
    net = build()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.97)
    for epoch in range(15):
        for i in torch.randperm(200).split(50):
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.mse_loss(net(x[i]), y[i])
            loss.backward()
            opt.step()
        sched.step()
        if epoch % 5 == 0:
            print(epoch, f"{loss.item():.5f}")


if __name__ == "__main__":
    main()
