# Alternative that keeps your own loop: Lightning Fabric. The Trainer way is simply
# Trainer(gradient_clip_val=1.0, gradient_clip_algorithm="norm"); with Fabric you clip where you
# always did, after backward and before step, and it takes care of precision and strategy.
import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()

base_optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
net, opt = fabric.setup(model, base_optimizer)
loader = fabric.setup_dataloaders(train_loader) if isinstance(train_loader, torch.utils.data.DataLoader) else train_loader

net.train()
for batch_idx, (x, y) in enumerate(loader):
    opt.zero_grad()
    loss = criterion(net(x), y)
    fabric.backward(loss)
    fabric.clip_gradients(net, opt, max_norm=1.0, norm_type=2)
    opt.step()
    if batch_idx % 10 == 0:
        fabric.print(f"batch {batch_idx}: loss {loss.item():.4f}")
