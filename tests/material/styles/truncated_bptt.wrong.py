import torch
import torch.nn as nn

torch.manual_seed(0)
text = ("the quick brown fox jumps over the lazy dog. " * 200)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
BPTT, BATCH, HIDDEN = 25, 8, 64
usable = len(ids) // BATCH * BATCH
stream = ids[:usable].view(BATCH, -1)


class CharLSTM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 32)
        self.lstm = nn.LSTM(32, HIDDEN, num_layers=2, batch_first=True)
        self.out = nn.Linear(HIDDEN, vocab)

    def forward(self, x, state):
        y, state = self.lstm(self.emb(x), state)
        return self.out(y), state


def repackage(h):
    return tuple(v.detach() for v in h)


model = CharLSTM(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(6):
    hidden = (torch.zeros(2, BATCH, HIDDEN), torch.zeros(2, BATCH, HIDDEN))
    total = n = 0
    for i in range(0, stream.size(1) - 1 - BPTT, BPTT):
        x, y = stream[:, i : i + BPTT], stream[:, i + 1 : i + 1 + BPTT]
        hidden = repackage(hidden)
        model.zero_grad()
        logits, hidden = model(x, hidden)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        loss.backward()
        optimizer.step()
        total, n = total + loss.item(), n + 1
    print(epoch, total / n)
