"""Image/text contrastive training on pre-extracted features (parquet)."""
import argparse
import logging
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter

logger = logging.getLogger('clip')


class Pairs(Dataset):
    def __init__(self, path):
        df = pd.read_parquet(path)
        self.img = np.stack(df['image_feat'].values).astype('float32')
        self.txt = np.stack(df['text_feat'].values).astype('float32')

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.txt[i]


class Tower(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.p = nn.Linear(d_in, d_out)
        self.f = nn.Sequential(nn.GELU(), nn.Linear(d_out, d_out), nn.Dropout(0.1))
        self.n = nn.LayerNorm(d_out)

    def forward(self, x):
        p = self.p(x)
        return F.normalize(self.n(p + self.f(p)), dim=-1)


class CLIPHead(nn.Module):
    def __init__(self, di, dt, d=256):
        super().__init__()
        self.image, self.text = Tower(di, d), Tower(dt, d)
        self.logit_scale = nn.Parameter(torch.tensor(2.659))

    def forward(self, img, txt):
        logits = self.logit_scale.exp() * self.image(img) @ self.text(txt).t()
        t = torch.arange(len(img), device=img.device)
        return (F.cross_entropy(logits, t) + F.cross_entropy(logits.t(), t)) / 2


def compute_loss(model, batch, args):
    img, txt = (b.to(args.device, non_blocking=True) for b in batch)
    return model(img, txt) / args.grad_accum


def train(args):
    ds = Pairs(args.data)
    dl = DataLoader(ds, args.batch_size, shuffle=True, drop_last=True, num_workers=4)
    model = CLIPHead(ds.img.shape[1], ds.txt.shape[1]).to(args.device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    windows = len(dl) // args.grad_accum
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=windows * args.epochs)
    tb = SummaryWriter(args.logdir)
    gstep = 0
    for epoch in range(args.epochs):
        batches = iter(dl)
        for _ in range(windows):
            opt.zero_grad()
            window_loss = 0.0
            for _ in range(args.grad_accum):
                loss = compute_loss(model, next(batches), args)
                window_loss += loss.item() / args.grad_accum
                loss = loss / args.grad_accum
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            with torch.no_grad():
                model.logit_scale.clamp_(0, 4.6052)
            gstep += 1
            tb.add_scalar('train/loss', window_loss, gstep)
            tb.add_scalar('train/scale', model.logit_scale.exp().item(), gstep)
        logger.info('epoch %d loss %.4f', epoch, window_loss)
        torch.save(model.state_dict(), args.out)


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO)
    p = argparse.ArgumentParser()
    p.add_argument('data')
    p.add_argument('--epochs', type=int, default=10)
    p.add_argument('--batch-size', type=int, default=512)
    p.add_argument('--grad-accum', type=int, default=4)
    p.add_argument('--lr', type=float, default=5e-4)
    p.add_argument('--clip', type=float, default=1.0)
    p.add_argument('--logdir', default='runs/clip')
    p.add_argument('--out', default='clip.pt')
    p.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    train(p.parse_args())
