# Rate stays. Every ReLU layer halves the second moment of the signal, so the weights have to
# make up for it: their scale must follow from the number of inputs (He et al.: 2 / fan_in).
# 0.02 ignores the width. With that in, forward and backward variance is preserved through all
# 24 layers:

import torch
from torch import nn


def init_weights(module):
    if isinstance(module, nn.Linear):
        fan_in = module.weight.shape[1]
        nn.init.normal_(module.weight, mean=0.0, std=2.0 / fan_in)   # He initialisation
        nn.init.zeros_(module.bias)


model.apply(init_weights)

for epoch in range(num_epochs):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

# For 24 inputs this is 0.083, four times your 0.02. In GPT-2 the small value works because of
# residual paths and LayerNorm.
