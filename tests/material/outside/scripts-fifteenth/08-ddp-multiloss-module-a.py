import os, sys, tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

WORLD = 2


class TwoTower(nn.Module):
    """queries and documents into one space, in-batch negatives"""

    def __init__(self, vocab=60, d=24):
        super().__init__()
        self.q = nn.EmbeddingBag(vocab, d)
        self.d = nn.EmbeddingBag(vocab, d)
        self.logit_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, q_ids, d_ids):
        q = F.normalize(self.q(q_ids), dim=-1)
        d = F.normalize(self.d(d_ids), dim=-1)
        return self.logit_scale.exp() * q @ d.t()

    def similarity(self, q_ids, d_ids):
        return self(q_ids, d_ids) / self.logit_scale.exp()


def make_pairs(n, seed):
    g = torch.Generator().manual_seed(seed)
    topic = torch.randint(0, 12, (n,), generator=g)
    q = topic[:, None] * 5 + torch.randint(0, 5, (n, 4), generator=g)
    d = topic[:, None] * 5 + torch.randint(0, 5, (n, 7), generator=g)
    noise = torch.rand(d.shape, generator=g) < 0.2
    d[noise] = torch.randint(0, 60, (int(noise.sum()),), generator=g)
    return q, d


def run(rank, initfile):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{initfile}", rank=rank, world_size=WORLD)
    torch.manual_seed(100 + rank)
    net = DistributedDataParallel(TwoTower())  # broadcasts rank 0's weights
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    q, d = make_pairs(480, seed=1)
    q, d = q[rank::WORLD], d[rank::WORLD]
    bs = 24
    for epoch in range(6):
        perm = torch.randperm(len(q))
        losses = []
        for s in range(0, len(q), bs):
            idx = perm[s:s + bs]
            opt.zero_grad()
            logits = net(q[idx], d[idx])
            tgt = torch.arange(len(idx))
            loss = (F.cross_entropy(logits, tgt) + F.cross_entropy(logits.t(), tgt)) / 2
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if rank == 0:
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}", flush=True)

    net.eval()
    with torch.no_grad():
        tq, td = make_pairs(40, seed=9)
        sim = net.module.similarity(tq, td)
        top = (sim.argmax(1) == torch.arange(40)).float().mean()
    print(f"rank {rank} top1 {top:.3f} scale {net.module.logit_scale.item():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as d:
        mp.start_processes(run, args=(os.path.join(d, "rendezvous"),), nprocs=WORLD, start_method="fork")
