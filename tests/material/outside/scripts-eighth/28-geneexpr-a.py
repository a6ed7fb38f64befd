import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SparseMLP(nn.Module):
    """The first layer is driven to sparsity so that we can read off the selected genes."""

    def __init__(self, n_genes, hidden, n_classes, dropout):
        super().__init__()
        self.gate = nn.Linear(n_genes, hidden)
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, n_classes))

    def forward(self, x):
        return self.rest(self.gate(x))

    def l1(self):
        return self.gate.weight.data.abs().sum()

    @torch.no_grad()
    def gene_scores(self):
        return self.gate.weight.norm(dim=0)


def load(path, label, seed):
    df = pd.read_csv(path, index_col=0)
    y = df.pop(label).astype("category")
    genes = list(df.columns)
    x = np.log1p(df.to_numpy(np.float32))
    rng = np.random.default_rng(seed)
    perm = rng.permutation(len(x))
    k = int(0.2 * len(x))
    test, train = perm[:k], perm[k:]
    mu, sd = x[train].mean(0), x[train].std(0) + 1e-6
    x = torch.from_numpy((x - mu) / sd)
    t = torch.from_numpy(y.cat.codes.to_numpy().astype(np.int64))
    return (x[train], t[train]), (x[test], t[test]), genes, list(y.cat.categories)


def fit(model, train, test, args, device):
    loader = DataLoader(TensorDataset(*train), batch_size=args.batch, shuffle=True)
    counts = torch.bincount(train[1]).float()
    criterion = nn.CrossEntropyLoss(weight=(counts.sum() / (len(counts) * counts)).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    xt, yt = (t.to(device) for t in test)
    for epoch in range(1, args.epochs + 1):
        model.train()
        ce_sum = l1_sum = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            ce = criterion(model(x), y)
            penalty = model.l1()
            loss = ce + args.l1 * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ce_sum += ce.item()
            l1_sum += penalty.item()
        if epoch % args.report == 0:
            model.eval()
            with torch.no_grad():
                acc = (model(xt).argmax(1) == yt).float().mean().item()
            print(f"epoch {epoch:4d} ce {ce_sum / len(loader):.4f} l1 {l1_sum / len(loader):.1f} test acc {acc:.4f}")


def main():
    ap = argparse.ArgumentParser(description="Tumour type from bulk RNA-seq counts")
    ap.add_argument("csv", help="samples x genes, plus one label column")
    ap.add_argument("--label", default="cancer_type")
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--dropout", type=float, default=0.3)
    ap.add_argument("--l1", type=float, default=1e-4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--report", type=int, default=20)
    ap.add_argument("--top", type=int, default=50)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--genes-out", default="selected_genes.csv")
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, test, genes, classes = load(args.csv, args.label, args.seed)
    print(f"{len(train[0])} train, {len(test[0])} test, {len(genes)} genes, {len(classes)} classes")
    model = SparseMLP(len(genes), args.hidden, len(classes), args.dropout).to(device)
    fit(model, train, test, args, device)

    scores = model.gene_scores().cpu().numpy()
    order = np.argsort(-scores)[: args.top]
    pd.DataFrame({"gene": [genes[i] for i in order], "score": scores[order]}).to_csv(args.genes_out, index=False)
    print(f"wrote {args.top} genes to {args.genes_out}; "
          f"{(scores > 0.05 * scores.max()).mean():.1%} of the genes score above 5% of the best")


if __name__ == "__main__":
    main()
