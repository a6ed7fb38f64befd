import torch
import torch.nn as nn


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim)
        self.fc = nn.Linear(dim, classes)

    def forward(self, text):
        return self.fc(self.bag(text))


class Trainer:
    """Keeps model, optimizer and schedule together."""

    def __init__(self, model, loader, lr=0.5, accumulate=3, epochs=2, clip=None):
        self.model = model
        self.loader = loader
        self.accumulate = accumulate
        self.epochs = epochs
        self.clip = clip
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        updates = epochs * (len(loader) // accumulate)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.01, total_iters=updates)
        self.loss_fn = nn.CrossEntropyLoss()

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            self.optimizer.zero_grad()
            seen = 0.0
            for i, (x, y) in enumerate(self.loader):
                loss = self.loss_fn(self.model(x), y)
                (loss / self.accumulate).backward()
                seen += loss.item()
                if (i + 1) % self.accumulate == 0:
                    self._update()
                self.scheduler.step()
            print(epoch, round(seen / len(self.loader), 4), self.scheduler.get_last_lr())

    def _update(self):
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


def make_loader(n_batches=12, batch=8, vocab=50, length=10):
    g = torch.Generator().manual_seed(3)
    out = []
    for _ in range(n_batches):
        x = torch.randint(0, vocab, (batch, length), generator=g)
        out.append((x, (x.float().mean(1) > vocab / 2).long()))
    return out


torch.manual_seed(0)
Trainer(TextClassifier(50, 16, 2), make_loader(), clip=1.0).fit()
