"""Bag-of-embeddings sentiment classifier on rotten_tomatoes, trained with Accelerate."""
import argparse
import collections

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import load_dataset
from torch.utils.data import DataLoader


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim=32, classes=2):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean", padding_idx=0)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, classes))

    def forward(self, ids):
        return self.head(self.emb(ids))


def build_vocab(texts, size=5000):
    c = collections.Counter(w for t in texts for w in t.lower().split())
    return {w: i + 2 for i, (w, _) in enumerate(c.most_common(size))}


def make_collate(vocab, max_len=64):
    def collate(rows):
        seqs = [torch.tensor([vocab.get(w, 1) for w in r["text"].lower().split()][:max_len]) for r in rows]
        return nn.utils.rnn.pad_sequence(seqs, batch_first=True), torch.tensor([r["label"] for r in rows])
    return collate


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps, cpu=args.cpu)
    set_seed(args.seed)

    raw = load_dataset("rotten_tomatoes")
    vocab = build_vocab([r["text"] for r in raw["train"]])
    collate = make_collate(vocab)
    window = args.batch_size * args.gradient_accumulation_steps
    train = raw["train"].select(range(len(raw["train"]) // window * window))  # whole windows only
    train_dl = DataLoader(train, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    eval_dl = DataLoader(raw["validation"], batch_size=64, collate_fn=collate)

    model = TextClassifier(len(vocab) + 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)

    for epoch in range(args.num_epochs):
        model.train()
        total = 0.0
        for ids, labels in train_dl:
            with accelerator.accumulate(model):
                loss = criterion(model(ids), labels)
                total += loss.item()
                loss = loss / accelerator.gradient_accumulation_steps
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                optimizer.zero_grad()

        model.eval()
        hits = []
        with torch.no_grad():
            for ids, labels in eval_dl:
                pred, labels = accelerator.gather_for_metrics((model(ids).argmax(-1), labels))
                hits.append((pred == labels).float())
        accelerator.print(f"epoch {epoch}: train loss {total / len(train_dl):.4f} acc {torch.cat(hits).mean():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--num_epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--max_grad_norm", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--cpu", action="store_true")
    main(parser.parse_args())
