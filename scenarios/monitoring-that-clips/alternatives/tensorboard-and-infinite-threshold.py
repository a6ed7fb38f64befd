# A writer for TensorBoard; the total by a clip at infinity.
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    for name, p in model.named_parameters():
        writer.add_scalar(f"grad_norm/{name}", p.grad.norm().item(), step)
    total = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    writer.add_scalar("grad_norm/total", total.item(), step)
    optimizer.step()
