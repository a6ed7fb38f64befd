import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MAX_NORM = 2.0  # several times the ordinary norm of about 0.3: acts on outliers only


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU())
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.body(x))


def data():
    gen = torch.Generator().manual_seed(11)
    x = torch.randn(120, 6, generator=gen)
    y = 0.3 * torch.randn(120, 2, generator=gen)
    y[::40] *= 60  # outliers
    return DataLoader(TensorDataset(x, y), batch_size=10)


def main():
    torch.manual_seed(0)
    model = Net()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in data():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        print(f"norm {norm:.2f}" + (f" -> {MAX_NORM}" if norm > MAX_NORM else ""))
    return model


if __name__ == "__main__":
    main()
