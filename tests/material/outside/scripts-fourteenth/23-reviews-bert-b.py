"""Fine-tune a (tiny, randomly started) BERT for sentiment on a jsonl file."""
import argparse
import json
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup


class ReviewDataset(Dataset):
    def __init__(self, records, vocab, max_len=16):
        self.records, self.vocab, self.max_len = records, vocab, max_len

    def __len__(self):
        return len(self.records)

    def __getitem__(self, i):
        r = self.records[i]
        ids = [2] + [self.vocab.get(w, 1) for w in r["text"].split()][: self.max_len - 1]
        pad = self.max_len - len(ids)
        return {"input_ids": torch.tensor(ids + [0] * pad),
                "attention_mask": torch.tensor([1] * len(ids) + [0] * pad),
                "labels": torch.tensor(r["label"])}


def param_groups(model, wd):
    no_decay = ("bias", "LayerNorm.weight")
    named = list(model.named_parameters())
    return [{"params": [p for n, p in named if not any(k in n for k in no_decay)], "weight_decay": wd},
            {"params": [p for n, p in named if any(k in n for k in no_decay)], "weight_decay": 0.0}]


def evaluate(model, loader):
    model.eval()
    ok = n = 0
    with torch.no_grad():
        for batch in loader:
            logits = model(**batch).logits
            ok += (logits.argmax(-1) == batch["labels"]).sum().item()
            n += len(batch["labels"])
    return ok / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--file", type=str, required=True)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--max_grad_norm", type=float, default=1.0)
    args = ap.parse_args()
    torch.manual_seed(0)
    recs = [json.loads(l) for l in open(args.file)]
    words = sorted({w for r in recs[:400] for w in r["text"].split()})
    vocab = {w: i + 3 for i, w in enumerate(words)}
    train = DataLoader(ReviewDataset(recs[:400], vocab), batch_size=20, shuffle=True)
    test = DataLoader(ReviewDataset(recs[400:], vocab), batch_size=50)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=len(vocab) + 3, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=32, num_labels=2))
    optimizer = torch.optim.AdamW(param_groups(model, 0.01), lr=args.lr)
    total = args.epochs * len(train)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(0.1 * total), total)
    for epoch in range(args.epochs):
        model.train()
        tr_loss = 0.0
        for batch in train:
            loss = model(**batch).loss
            loss.backward()
            tr_loss += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step()
            scheduler.step()
            model.zero_grad()
        print(f"epoch {epoch} loss {tr_loss / len(train):.4f} acc {evaluate(model, test):.3f}")


if __name__ == "__main__":
    main()
