# Self-normalising: SELU with LeCun's initialisation (kaiming, linear gain).
import torch
import torch.nn as nn

layers, n = [], 16
for _ in range(24):
    linear = nn.Linear(n, 24)
    nn.init.kaiming_normal_(linear.weight, nonlinearity="linear")
    nn.init.zeros_(linear.bias)
    layers.extend([linear, nn.SELU()])
    n = 24
layers.append(nn.Linear(24, 3))
net = nn.Sequential(*layers)
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def train(net, loader, epochs):
    for _ in range(epochs):
        for xb, yb in loader:
            opt.zero_grad()
            loss = criterion(net(xb), yb)
            loss.backward()
            opt.step()


train(net, train_loader, num_epochs)
