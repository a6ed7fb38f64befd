# torchrun --standalone --nproc_per_node=4 train_lm.py --data corpus.npy
import argparse, os
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Tokens(Dataset):
    def __init__(self, path, ctx):
        self.t = np.load(path, mmap_mode='r')
        self.ctx = ctx

    def __len__(self):
        return (len(self.t) - 1) // self.ctx

    def __getitem__(self, i):
        s = i * self.ctx
        c = torch.from_numpy(self.t[s:s + self.ctx + 1].astype(np.int64))
        return c[:-1], c[1:]


class LM(nn.Module):
    def __init__(self, vocab, d, layers, ctx):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Parameter(torch.zeros(ctx, d))
        enc = nn.TransformerEncoderLayer(d, 8, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.tr = nn.TransformerEncoder(enc, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d, vocab)
        self.register_buffer('mask', nn.Transformer.generate_square_subsequent_mask(ctx))

    def forward(self, x):
        T = x.size(1)
        h = self.tok(x) + self.pos[:T]
        return self.head(self.tr(h, mask=self.mask[:T, :T]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--data', required=True)
    ap.add_argument('--vocab', type=int, default=32000)
    ap.add_argument('--ctx', type=int, default=512)
    ap.add_argument('--bs', type=int, default=8)
    ap.add_argument('--accum', type=int, default=4)
    ap.add_argument('--lr', type=float, default=3e-4)
    ap.add_argument('--epochs', type=int, default=1)
    a = ap.parse_args()

    dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')
    rank, local = dist.get_rank(), int(os.environ['LOCAL_RANK'])
    dev = torch.device(f'cuda:{local}') if torch.cuda.is_available() else torch.device('cpu')
    torch.manual_seed(0)

    model = LM(a.vocab, 512, 8, a.ctx).to(dev)
    model = DDP(model, device_ids=[local] if dev.type == 'cuda' else None)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.1)

    ds = Tokens(a.data, a.ctx)
    sampler = DistributedSampler(ds, shuffle=True, drop_last=True)
    dl = DataLoader(ds, batch_size=a.bs, sampler=sampler, num_workers=2, drop_last=True)
    steps = len(dl) // a.accum  # full windows only

    for ep in range(a.epochs):
        sampler.set_epoch(ep)
        it = iter(dl)
        for step in range(steps):
            opt.zero_grad(set_to_none=True)
            acc = 0.0
            for micro in range(a.accum):
                x, y = next(it)
                x, y = x.to(dev), y.to(dev)
                last = micro == a.accum - 1
                with nullcontext() if last else model.no_sync():
                    logits = model(x)
                    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / a.accum
                    loss.backward()
                acc += loss.detach()
            gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            if rank == 0 and step % 20 == 0:
                print(f'ep {ep} step {step}/{steps} loss {acc.item():.4f} gnorm {gn.item():.2f}', flush=True)
        if rank == 0:
            torch.save(model.module.state_dict(), f'lm_ep{ep}.pt')
        dist.barrier()
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
