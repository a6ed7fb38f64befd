import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
import torchvision.transforms as T
from tqdm import tqdm

conf = {
    "root": "~/.cache/cifar100",
    "bs": 64,
    "epochs": 2,
    "opt": {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4},
    "grad_clip": 0.1,
    "seed": 0,
}


class ConvMixer(nn.Module):
    def __init__(self, dim=24, depth=2, kernel=5, patch=4, n_classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, dim, patch, patch), nn.GELU(), nn.BatchNorm2d(dim))
        self.depthwise = nn.ModuleList(
            nn.Sequential(nn.Conv2d(dim, dim, kernel, groups=dim, padding="same"), nn.GELU(), nn.BatchNorm2d(dim))
            for _ in range(depth))
        self.pointwise = nn.ModuleList(
            nn.Sequential(nn.Conv2d(dim, dim, 1), nn.GELU(), nn.BatchNorm2d(dim)) for _ in range(depth))

        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for d, p in zip(self.depthwise, self.pointwise):
            x = p(x + d(x))
        return self.head(x.mean((2, 3)))


def loaders():
    norm = T.Normalize((0.507, 0.487, 0.441), (0.267, 0.256, 0.276))
    train_tf = T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), norm])
    test_tf = T.Compose([T.ToTensor(), norm])
    train = torchvision.datasets.CIFAR100(conf["root"], train=True, download=True, transform=train_tf)
    test = torchvision.datasets.CIFAR100(conf["root"], train=False, download=True, transform=test_tf)
    mk = torch.utils.data.DataLoader
    return mk(train, conf["bs"], shuffle=True), mk(test, 256)


def topk(logits, y, k=5):
    return (logits.topk(k, 1).indices == y.unsqueeze(1)).any(1).float().sum().item()


def main():
    torch.manual_seed(conf["seed"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_dl, test_dl = loaders()
    net = ConvMixer().to(device)
    params = list(itertools.chain(net.stem.parameters(), net.depthwise.parameters(), net.pointwise.parameters(),
                                  net.head.parameters()))
    optimizer = torch.optim.SGD(params, **conf["opt"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, conf["epochs"])

    for epoch in range(conf["epochs"]):
        net.train()
        meter = 0.0
        for x, y in tqdm(train_dl, leave=False):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(params, conf["grad_clip"])
            optimizer.step()
            meter += loss.item()
        scheduler.step()

        net.eval()
        top1 = top5 = n = 0
        with torch.no_grad():
            for x, y in test_dl:
                out = net(x.to(device)).cpu()
                top1 += topk(out, y, 1)
                top5 += topk(out, y, 5)
                n += len(y)
        print(f"epoch {epoch}: loss {meter / len(train_dl):.3f} top1 {top1 / n:.3f} top5 {top5 / n:.3f}")


if __name__ == "__main__":
    main()
