class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(input_size=4, hidden_size=16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        states, _ = self.rnn(x.view(len(x), 4, 4))
        return self.head(states[:, -1])


net = Forecaster()
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def bound(opt, args, kwargs):
    torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)


opt.register_step_post_hook(bound)
for x, y in train_loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
