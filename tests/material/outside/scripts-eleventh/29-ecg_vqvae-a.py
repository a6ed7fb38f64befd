import argparse
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class EcgSegments(Dataset):
    """beats.npy: float32 (records, leads, samples). Random crops for training, centre crops otherwise."""

    def __init__(self, array, length, train):
        self.array, self.length, self.train = array, length, train

    def __len__(self):
        return len(self.array)

    def __getitem__(self, i):
        rec = self.array[i]
        room = rec.shape[1] - self.length
        s = int(torch.randint(0, room + 1, (1,))) if self.train else room // 2
        x = torch.from_numpy(np.array(rec[:, s:s + self.length]))
        x = x - x.median(1, keepdim=True).values
        return x / (x.std() + 1e-4)


class ResConv(nn.Module):
    def __init__(self, ch, dil):
        super().__init__()
        self.f = nn.Sequential(nn.ELU(), nn.Conv1d(ch, ch, 3, padding=dil, dilation=dil), nn.ELU(), nn.Conv1d(ch, ch, 1))

    def forward(self, x):
        return x + self.f(x)


class Quantizer(nn.Module):
    def __init__(self, n_codes, dim, beta):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0 / n_codes, 1.0 / n_codes)
        self.n_codes, self.beta = n_codes, beta

    def forward(self, z):
        z = z.transpose(1, 2)
        flat = z.reshape(-1, z.size(-1))
        w = self.codebook.weight
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ w.t() + w.pow(2).sum(1)
        idx = dist.argmin(1)
        q = self.codebook(idx).view_as(z)
        codebook_loss = F.mse_loss(q.detach(), z)
        commit_loss = F.mse_loss(z, q.detach())
        out = z + (q - z).detach()
        usage = torch.bincount(idx, minlength=self.n_codes).float() / idx.numel()
        perplexity = torch.exp(-(usage * (usage + 1e-10).log()).sum())
        return out.transpose(1, 2), codebook_loss + self.beta * commit_loss, perplexity


class EcgVQVAE(nn.Module):
    def __init__(self, leads, ch=64, dim=32, n_codes=256, beta=0.25):
        super().__init__()
        enc = [nn.Conv1d(leads, ch, 7, padding=3)]
        for _ in range(3):
            enc += [ResConv(ch, 1), ResConv(ch, 3), nn.ELU(), nn.Conv1d(ch, ch, 4, 2, 1)]
        self.encoder = nn.Sequential(*enc, nn.Conv1d(ch, dim, 1))
        self.quantizer = Quantizer(n_codes, dim, beta)
        dec = [nn.Conv1d(dim, ch, 3, padding=1)]
        for _ in range(3):
            dec += [ResConv(ch, 3), ResConv(ch, 1), nn.ELU(), nn.ConvTranspose1d(ch, ch, 4, 2, 1)]
        self.decoder = nn.Sequential(*dec, nn.ELU(), nn.Conv1d(ch, leads, 7, padding=3))

    def forward(self, x):
        q, vq_loss, ppl = self.quantizer(self.encoder(x))
        return self.decoder(q), vq_loss, ppl


def recon_loss(pred, x):
    slope = F.l1_loss(pred.diff(dim=-1), x.diff(dim=-1))
    return F.mse_loss(pred, x) + 0.5 * slope


def run(model, loader, device, optimizer=None):
    training = optimizer is not None
    model.train(training)
    sums, n = np.zeros(3), 0
    with torch.set_grad_enabled(training):
        for x in loader:
            x = x.to(device)
            pred, vq, ppl = model(x)
            rec = recon_loss(pred, x)
            if training:
                optimizer.zero_grad()
                (rec + vq).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            sums += [rec.item(), vq.item(), ppl.item()]
            n += 1
    return sums / n


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="VQ-VAE for ECG compression")
    parser.add_argument("--beats", required=True)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--codes", type=int, default=256)
    parser.add_argument("--beta", type=float, default=0.25)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--out", default="ecg_vqvae")
    args = parser.parse_args()

    torch.manual_seed(11)
    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = np.load(args.beats, mmap_mode="r")
    n_val = max(1, len(data) // 10)
    train_dl = DataLoader(EcgSegments(data[n_val:], args.length, True), args.batch, shuffle=True, drop_last=True)
    val_dl = DataLoader(EcgSegments(data[:n_val], args.length, False), args.batch)

    model = EcgVQVAE(data.shape[1], n_codes=args.codes, beta=args.beta).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=max(1, args.epochs // 3), gamma=0.4)

    best = float("inf")
    for epoch in range(args.epochs):
        tr = run(model, train_dl, device, optimizer)
        va = run(model, val_dl, device)
        scheduler.step()
        print(f"epoch {epoch:03d} | train rec {tr[0]:.4f} vq {tr[1]:.4f} ppl {tr[2]:.1f} "
              f"| val rec {va[0]:.4f} vq {va[1]:.4f} ppl {va[2]:.1f}")
        if va[0] < best:
            best = va[0]
            torch.save({"model": model.state_dict(), "args": vars(args)}, os.path.join(args.out, "best.pt"))
