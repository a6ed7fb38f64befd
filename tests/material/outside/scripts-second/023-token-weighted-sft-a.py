"""Supervised fine-tuning: loss over answer tokens only, accumulated over micro-batches of different lengths."""
import torch
import torch.nn as nn
import torch.nn.functional as F

IGNORE = -100
VOCAB = 30
torch.manual_seed(0)


class TinyLM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.head(self.gru(self.emb(ids))[0])


def example():
    n_prompt, n_answer = torch.randint(2, 6, ()).item(), torch.randint(1, 15, ()).item()
    ids = torch.randint(1, VOCAB, (n_prompt + n_answer,))
    labels = ids.clone()
    labels[:n_prompt] = IGNORE
    return ids, labels


def collate(items):
    n = max(len(i) for i, _ in items)
    ids = torch.zeros(len(items), n, dtype=torch.long)
    labels = torch.full((len(items), n), IGNORE)
    for r, (i, l) in enumerate(items):
        ids[r, : len(i)], labels[r, : len(l)] = i, l
    return ids, labels


def micro_batches(n, size=2):
    return [collate([example() for _ in range(size)]) for _ in range(n)]


def main(updates=10, accum=4):
    model = TinyLM()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for u in range(updates):
        window = micro_batches(accum)
        n_tokens = sum((l[:, 1:] != IGNORE).sum().item() for _, l in window)
        opt.zero_grad()
        total = 0.0
        for ids, labels in window:
            logits = model(ids)[:, :-1]
            nll = F.cross_entropy(logits.reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=IGNORE)
            loss = nll / accum
            loss.backward()
            total += loss.item()
        opt.step()
        print(f"update {u} loss {total:.4f} tokens {n_tokens}")


if __name__ == "__main__":
    main()
