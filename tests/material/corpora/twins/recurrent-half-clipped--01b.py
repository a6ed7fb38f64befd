class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        states, _ = self.rnn(x.view(len(x), 4, 4))
        if states.requires_grad:
            states.register_hook(lambda g: g.clamp(-0.1, 0.1))
        return self.head(states[:, -1])


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)

for x, y in train_loader:
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
