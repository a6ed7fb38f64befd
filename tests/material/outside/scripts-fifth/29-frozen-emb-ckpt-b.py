import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, drop, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(drop))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class DocumentClassifier(nn.Module):
    """Transformer over fixed word vectors (they stay as they were pretrained)."""

    def __init__(self, vectors, layers, heads, classes, drop=0.1, grad_checkpointing=True):
        super().__init__()
        dim = vectors.size(1)
        self.words = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.register_buffer("pos", torch.randn(1, 512, dim) * 0.02)
        self.blocks = nn.ModuleList([EncoderBlock(dim, heads, drop) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.grad_checkpointing = grad_checkpointing

    def forward(self, ids):
        x = self.words(ids) + self.pos[:, :ids.size(1)]
        for block in self.blocks:
            if self.grad_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.head(self.norm(x).mean(1))


def synthetic_vectors(vocab, dim, seed):
    return torch.randn(vocab, dim, generator=torch.Generator().manual_seed(seed))


def synthetic_documents(n, length, vocab, classes, seed):
    """The class is given by how often a marker word directly follows its partner."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(2 * classes, vocab, (n, length), generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    for i in range(n):
        for pos in torch.randperm(length // 2 - 1, generator=g)[:6].tolist():
            ids[i, 2 * pos] = 2 * y[i]
            ids[i, 2 * pos + 1] = 2 * y[i] + 1
    return TensorDataset(ids, y)


def train(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vectors = synthetic_vectors(args.vocab, args.dim, 0)
    train_dl = DataLoader(synthetic_documents(args.docs, args.length, args.vocab, args.classes, 1), args.batch_size,
                          shuffle=True)
    test_dl = DataLoader(synthetic_documents(args.docs // 8, args.length, args.vocab, args.classes, 2), args.batch_size)
    model = DocumentClassifier(vectors, args.layers, args.heads, args.classes,
                               grad_checkpointing=args.grad_checkpointing).to(device)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, epochs=args.epochs,
                                                    steps_per_epoch=len(train_dl))
    print(f"trainable parameters: {sum(p.numel() for p in trainable):,}")
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for ids, y in train_dl:
            ids, y = ids.to(device), y.to(device)
            optimizer.zero_grad()
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                loss = F.cross_entropy(model(ids), y)
            loss.backward()
            nn.utils.clip_grad_norm_(trainable, 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            hits = sum((model(ids.to(device)).argmax(1).cpu() == y).sum().item() for ids, y in test_dl)
        print(f"epoch {epoch} loss {total / len(train_dl.dataset):.4f} test {hits / len(test_dl.dataset):.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--docs", type=int, default=4000)
    p.add_argument("--length", type=int, default=128)
    p.add_argument("--vocab", type=int, default=5000)
    p.add_argument("--classes", type=int, default=8)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--no-grad-checkpointing", dest="grad_checkpointing", action="store_false")
    train(p.parse_args())
