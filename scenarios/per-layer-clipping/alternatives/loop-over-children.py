# The model's children are its layers.
def clip_layers(model, max_norm=1.0):
    for layer in model.children():
        params = [p for p in layer.parameters() if p.grad is not None]
        if params:
            torch.nn.utils.clip_grad_norm_(params, max_norm)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    clip_layers(model)
    optimizer.step()
