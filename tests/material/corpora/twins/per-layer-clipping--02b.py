clips = []
for layer in model.modules():
    if isinstance(layer, nn.Linear):
        clips.append(lambda layer=layer: torch.nn.utils.clip_grad_norm_([layer.weight], 1.0))

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for clip in clips:
        clip()
    optimizer.step()
