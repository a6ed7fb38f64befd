import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

N_CLIENTS, FRACTION, ROUNDS, LOCAL_EPOCHS = 8, 0.5, 4, 1
BATCH, LR, ALPHA, SEED = 16, 0.1, 0.5, 0


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 12, 5), nn.Conv2d(12, 24, 5)
        self.f1, self.f2 = nn.Linear(24 * 25, 48), nn.Linear(48, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


def dirichlet_split(labels, n, alpha):
    labels = np.asarray(labels)
    parts = [[] for _ in range(n)]
    for c in np.unique(labels):
        idx = np.random.permutation(np.where(labels == c)[0])
        cuts = (np.cumsum(np.random.dirichlet([alpha] * n)) * len(idx)).astype(int)[:-1]
        for part, chunk in zip(parts, np.split(idx, cuts)):
            part.extend(chunk.tolist())
    return parts


class Client:
    def __init__(self, dataset, device):
        self.loader = DataLoader(dataset, BATCH, shuffle=True)
        self.size = len(dataset)
        self.device = device

    def train(self, global_model):
        local = copy.deepcopy(global_model)
        local.train()
        optimizer = torch.optim.SGD(global_model.parameters(), lr=LR, momentum=0.5)
        losses = []
        for _ in range(LOCAL_EPOCHS):
            for x, y in self.loader:
                x, y = x.to(self.device), y.to(self.device)
                optimizer.zero_grad()
                loss = F.cross_entropy(local(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return local.state_dict(), float(np.mean(losses))


class Server:
    def __init__(self, clients, test_loader, device):
        self.clients, self.test_loader, self.device = clients, test_loader, device
        self.model = CNN().to(device)

    def aggregate(self, states, sizes):
        total = sum(sizes)
        new = {k: sum(s[k] * (n / total) for s, n in zip(states, sizes)) for k in states[0]}
        self.model.load_state_dict(new)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        hit = n = 0
        for x, y in self.test_loader:
            hit += (self.model(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
        return hit / n

    def run(self):
        for r in range(ROUNDS):
            chosen = random.sample(self.clients, int(FRACTION * len(self.clients)))
            results = [c.train(self.model) for c in chosen]
            self.aggregate([s for s, _ in results], [c.size for c in chosen])
            print(f"round {r}: local loss {np.mean([l for _, l in results]):.4f} global acc {self.evaluate():.3f}")


def main():
    set_seed(SEED)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)])
    train = datasets.CIFAR10("data", train=True, download=True, transform=tf)
    test = datasets.CIFAR10("data", train=False, download=True, transform=tf)
    parts = [p for p in dirichlet_split(train.targets, N_CLIENTS, ALPHA) if len(p) >= BATCH]
    clients = [Client(Subset(train, p), device) for p in parts]
    Server(clients, DataLoader(test, 256), device).run()


if __name__ == "__main__":
    main()
