# An optimizer of our own with the fused kernel. It could take the scale itself; the clip cannot,
# so unscale_ comes first all the same.
import torch

model = model.to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, fused=True)
scaler = torch.amp.GradScaler("cuda")
accum = 4

model.train()
for i, (images, labels) in enumerate(train_loader):
    images, labels = images.to("cuda"), labels.to("cuda")
    with torch.amp.autocast("cuda"):
        loss = criterion(model(images), labels) / accum
    scaler.scale(loss).backward()
    if (i + 1) % accum == 0 or (i + 1) == len(train_loader):
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
