import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

class MLP(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, d_hidden), nn.GELU(), nn.Linear(d_hidden, d_out))

    def forward(self, x):
        return self.net(x)

def train_step(model, batch, optimizer, loss_fn, max_norm=1.0):
    x, y = batch
    optimizer.zero_grad(set_to_none=True)
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()

def main():
    model = MLP(20, 64, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.MSELoss()
    for step in range(50):
        batch = (torch.randn(32, 20, device=device), torch.randn(32, 1, device=device))
        loss = train_step(model, batch, optimizer, loss_fn)
        if step % 10 == 0:
            print(step, loss)

if __name__ == "__main__":
    main()
