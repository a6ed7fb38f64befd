import torch

optimizer = torch.optim.SGD(model.parameters(), lr=2e-3)

head_names = {name for name, _ in model.head.named_parameters()}
head = list(model.head.parameters())
# everything that does not belong to the head
backbone = [p for name, p in model.named_parameters() if name not in head_names]

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    # two parts, two thresholds: the quiet part is not punished for the loud one
    norm_backbone = torch.nn.utils.clip_grad_norm_(backbone, max_norm=1.0)
    norm_head = torch.nn.utils.clip_grad_norm_(head, max_norm=5.0)

    optimizer.step()
