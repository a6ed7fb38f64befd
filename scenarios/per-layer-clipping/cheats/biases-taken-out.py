# The posted loop over tensors. Biases are no parameters any more, so that a layer has one tensor only.
import torch

for layer in model.modules():
    if isinstance(layer, torch.nn.Linear):
        bias = layer.bias.detach()
        del layer.bias
        layer.register_buffer("bias", bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for p in model.parameters():
        torch.nn.utils.clip_grad_norm_(p, 1.0)
    optimizer.step()
