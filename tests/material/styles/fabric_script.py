import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(2)

model = torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.ReLU(), torch.nn.Linear(40, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model, optimizer = fabric.setup(model, optimizer)
dataset = torch.utils.data.TensorDataset(torch.randn(320, 12), torch.randint(0, 2, (320,)))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(dataset, batch_size=20, shuffle=True))

accumulate = 4
for epoch in range(5):
    for i, (x, y) in enumerate(loader):
        stepping = (i + 1) % accumulate == 0
        with fabric.no_backward_sync(model, enabled=not stepping):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss / accumulate)
        if stepping:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
    fabric.print(epoch, loss.item())
