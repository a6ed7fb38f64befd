import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = Fabric(accelerator="cpu", devices=1)
fabric.seed_everything(2, verbose=False)

X = torch.randn(160, 4)
Y = (X.prod(1, keepdim=True) > 0).float()
loader = fabric.setup_dataloaders(DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True))

model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
model, optimizer = fabric.setup(model, optimizer)

accum = 5
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        is_accumulating = (i + 1) % accum != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            fabric.backward(loss / accum)
        if not is_accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=0.5)
            optimizer.step()
            optimizer.zero_grad()
    fabric.print(f"epoch {epoch} loss {loss.item():.4f}")
