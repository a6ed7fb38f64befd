import os
import pickle
import torch
from torch import nn

# Train a forecaster on five gauges, then fine-tune its upper part on the weir.

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "data", "gauges.pkl"), "rb") as f:
    gauges = pickle.load(f)

W = 36


def windows(series, step=4):
    s = torch.as_tensor(series)
    w = s.unfold(0, W + 1, step)
    return w[:, :W], w[:, W:]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.Conv1d(8, 8, 5, stride=2), nn.ReLU())
        self.top = nn.Sequential(nn.Flatten(), nn.Linear(8 * 14, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.top(self.conv(x.unsqueeze(1)))


def train(model, params, x, y, lr, epochs, max_norm, bs=50):
    opt = torch.optim.SGD(params, lr=lr, momentum=0.9)
    for ep in range(epochs):
        model.train()
        tot, norms = 0.0, []
        for idx in torch.randperm(len(x)).split(bs):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            norms.append(float(nn.utils.clip_grad_norm_(params, max_norm)))
            opt.step()
            tot += loss.item() * len(idx)
        print(f"   epoch {ep} mse {tot / len(x):.4f} max norm {max(norms):.3f}")


@torch.no_grad()
def mse(model, x, y):
    model.eval()
    return nn.functional.mse_loss(model(x), y).item()


torch.set_num_threads(1)
torch.manual_seed(12)
net = Forecaster()
xs, ys = zip(*(windows(v) for k, v in gauges.items() if k != "weir"))
xs, ys = torch.cat(xs), torch.cat(ys)
print("pretraining on", len(xs), "windows")
train(net, list(net.parameters()), xs, ys, lr=0.05, epochs=3, max_norm=0.5)

# weir: an early part to tune on, a later one to test; the amplitude differs there
weir = 4.0 * gauges["weir"]
xt, yt = windows(weir[:400])
xv, yv = windows(weir[400:])
print("weir before", mse(net, xv, yv))
for p in net.conv.parameters():
    p.requires_grad = False
trainable = filter(lambda p: p.requires_grad, net.parameters())
train(net, trainable, xt, yt, lr=0.05, epochs=8, max_norm=0.5)
print("weir after", mse(net, xv, yv))
