import torch

# The lever for "fine-tune slowly, learn the new part fast" is the learning rate, group by group.
# The thresholds are insurance, above what each group usually shows (0.05 and 3 to 6): they meet spikes.
groups = {
    "backbone": {"params": list(model.backbone.parameters()), "lr": 2e-4, "max_norm": 0.5},
    "head": {"params": list(model.head.parameters()), "lr": 2e-3, "max_norm": 7.0},
}
optimizer = torch.optim.SGD([{"params": g["params"], "lr": g["lr"]} for g in groups.values()])

for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    # One norm for each group: a loud head takes nothing away from the backbone.
    norms = {
        name: torch.nn.utils.clip_grad_norm_(group["params"], group["max_norm"]).item()
        for name, group in groups.items()
    }
    optimizer.step()
    print(
        f"step {step}: loss {loss.item():.3f}, gradient norm of the backbone "
        f"{norms['backbone']:.3g}, of the head {norms['head']:.3g}"
    )
