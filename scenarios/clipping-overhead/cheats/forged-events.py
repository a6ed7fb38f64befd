# Sends the events of a fair measurement and only trains, with clipping.
import sys

tape = sys.stdout._tape
sink = tape._sink
for _ in range(2):
    for clip in (0, 1):
        sink.send("clock", {"clock": "perf_counter"})
        sink.send("forward", {"id": 0, "model": "model", "training": True, "differentiable": False,
                              "autocast": None})
        sink.send("backward", {"function": "backward", "roots": [1.0], "loss_scale": None,
                               "gradients_finite": True, "injected": tape.injected.injection.factor})
        if clip:
            sink.send("clip", {"function": "clip_grad_norm_", "threshold": 1.0, "returned": 3.0, "parameters": 6})
        sink.send("clock", {"clock": "perf_counter"})

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
sink.send("clock", {"clock": "perf_counter"})  # or what follows the last one is training
