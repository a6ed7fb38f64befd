import argparse
import random
import re
from collections import Counter

import pandas as pd
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, UNK = 0, 1


def tokenize(s):
    return re.findall(r"[a-z']+", s.lower())


class Reviews(Dataset):
    def __init__(self, frame, vocab, max_len):
        self.items = []
        for text, label in zip(frame["review"], frame["sentiment"]):
            ids = [vocab.get(t, UNK) for t in tokenize(text)][:max_len] or [UNK]
            self.items.append((torch.tensor(ids), float(label == "positive")))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels)


class LSTMClassifier(nn.Module):
    def __init__(self, vocab_size, emb=128, hidden=256, layers=2, drop=0.4):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, layers, batch_first=True, bidirectional=True, dropout=drop)
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(2 * hidden, 1)

    def forward(self, x, lengths):
        e = self.drop(self.embedding(x))
        packed = pack_padded_sequence(e, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        h = torch.cat([h[-2], h[-1]], dim=1)
        return self.fc(self.drop(h)).squeeze(1)


class Trainer:
    def __init__(self, model, train_loader, val_loader, args, device):
        self.model = model.to(device)
        self.train_loader, self.val_loader = train_loader, val_loader
        self.device = device
        self.clip = args.clip
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, lengths, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x, lengths), y)
            loss.backward()
            self.optimizer.step()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        hits = n = 0
        for x, lengths, y in self.val_loader:
            logits = self.model(x.to(self.device), lengths).cpu()
            hits += ((logits > 0).float() == y).sum().item()
            n += len(y)
        return hits / n

    def fit(self, epochs, path):
        best = 0.0
        for epoch in range(1, epochs + 1):
            loss = self.train_epoch()
            acc = self.evaluate()
            print(f"epoch {epoch}: loss={loss:.4f} val_acc={acc:.4f}")
            if acc > best:
                best = acc
                torch.save(self.model.state_dict(), path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", default="IMDB Dataset.csv")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--max-len", type=int, default=300)
    parser.add_argument("--vocab", type=int, default=25000)
    parser.add_argument("--save", default="lstm_imdb.pt")
    args = parser.parse_args()

    random.seed(42)
    torch.manual_seed(42)
    df = pd.read_csv(args.csv).sample(frac=1, random_state=42)
    cut = int(0.85 * len(df))
    train_df, val_df = df[:cut], df[cut:]
    counts = Counter(t for r in train_df["review"] for t in tokenize(r))
    vocab = {w: i + 2 for i, (w, _) in enumerate(counts.most_common(args.vocab))}

    train_loader = DataLoader(Reviews(train_df, vocab, args.max_len), args.batch_size, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(Reviews(val_df, vocab, args.max_len), 256, collate_fn=collate)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    Trainer(LSTMClassifier(len(vocab) + 2), train_loader, val_loader, args, device).fit(args.epochs, args.save)


if __name__ == "__main__":
    main()
