import argparse
import random
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import models, transforms


class PKDataset(Dataset):
    """yields K images of one class; batch of P items -> PxK"""
    def __init__(self, root, k, tf):
        self.classes = [sorted(d.glob('*.jpg')) for d in sorted(Path(root).iterdir()) if d.is_dir()]
        self.classes = [c for c in self.classes if len(c) >= k]
        self.k, self.tf = k, tf

    def __len__(self):
        return len(self.classes)

    def __getitem__(self, i):
        fs = random.sample(self.classes[i], self.k)
        return torch.stack([self.tf(Image.open(f).convert('RGB')) for f in fs]), torch.full((self.k,), i)


class Embedder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        net = models.efficientnet_b0(weights='DEFAULT')
        self.features, self.pool = net.features, nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(1280, dim)

    def forward(self, x):
        return F.normalize(self.fc(self.pool(self.features(x)).flatten(1)), dim=1)


def batch_hard(emb, lab, margin):
    dist = torch.cdist(emb, emb)
    same = lab[:, None] == lab[None]
    losses = []
    for i in range(len(emb)):
        pos = dist[i][same[i]].max()
        neg = dist[i][~same[i]].min()
        losses.append(F.relu(pos - neg + margin))
    return torch.stack(losses).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('root')
    ap.add_argument('-P', type=int, default=16)
    ap.add_argument('-K', type=int, default=4)
    ap.add_argument('--dim', type=int, default=128)
    ap.add_argument('--margin', type=float, default=0.2)
    ap.add_argument('--epochs', type=int, default=40)
    args = ap.parse_args()
    dev = 'cuda' if torch.cuda.is_available() else 'cpu'
    tf = transforms.Compose([transforms.RandomResizedCrop(224, (0.6, 1)), transforms.RandomHorizontalFlip(),
                             transforms.ToTensor(), transforms.Normalize([.485, .456, .406], [.229, .224, .225])])
    dl = DataLoader(PKDataset(args.root, args.K, tf), args.P, shuffle=True, num_workers=8, drop_last=True)
    net = Embedder(args.dim).to(dev)
    opt = torch.optim.Adam([{'params': net.features.parameters(), 'lr': 1e-4},
                            {'params': net.fc.parameters(), 'lr': 1e-3}])
    for ep in range(args.epochs):
        net.train()
        run = 0.
        for imgs, labs in dl:
            imgs, labs = imgs.flatten(0, 1).to(dev), labs.flatten().to(dev)
            loss = batch_hard(net(imgs), labs, args.margin)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item()
        print(f'ep {ep}: {run / len(dl):.4f}')
        torch.save(net.state_dict(), 'embedder.pth')


if __name__ == '__main__':
    main()
