import torch
from torch import nn


class Encoder(nn.Module):
    """Conv encoder; weights in data/encoder.pt come from denoising pretraining."""

    def __init__(self, width=12, dim=48):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.body = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.proj = nn.Linear(2 * width * 4, dim)
        self.dim = dim

    def forward(self, x):
        return torch.relu(self.proj(self.body(self.stem(x)).flatten(1)))


def load_encoder(path):
    enc = Encoder()
    enc.load_state_dict(torch.load(path, map_location="cpu"))
    return enc
