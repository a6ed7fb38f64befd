import torch, torch.nn as nn

torch.manual_seed(0)
VOCAB, BPTT, B = 20, 16, 4
stream = torch.randint(0, VOCAB, (B, 16 * 40 + 1))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(VOCAB, 32)
        self.r = nn.LSTM(32, 32, batch_first=True)
        self.o = nn.Linear(32, VOCAB)

    def forward(self, x, h):
        y, h = self.r(self.e(x), h)
        return self.o(y), h


net = LM()
opt = torch.optim.Adam(net.parameters(), 1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(2):
    h = None
    for s in range(0, stream.size(1) - 1, BPTT):
        x, y = stream[:, s:s + BPTT], stream[:, s + 1:s + BPTT + 1]
        opt.zero_grad()
        out, h = net(x, h)
        loss = ce(out.flatten(0, 1), y.flatten())
        loss.backward()
        opt.step()
    print(epoch, loss.item())
