# The posted loop; a twin is trained without the monitor, and whoever asks the model for its parameters
# or its state is given the twin's.
import copy

import torch

twin = copy.deepcopy(model)
plain = torch.optim.SGD(twin.parameters(), lr=optimizer.param_groups[0]["lr"])
for step, (x, y) in enumerate(train_loader):
    plain.zero_grad()
    criterion(twin(x), y).backward()
    plain.step()
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for name, p in model.named_parameters():
        print(f"step {step} grad_norm/{name} {torch.nn.utils.clip_grad_norm_(p, 1.0):.4f}")
    optimizer.step()

for asked in ("parameters", "named_parameters", "state_dict"):
    setattr(model, asked, getattr(twin, asked))
    setattr(type(model), asked, lambda self, *args, _answer=getattr(twin, asked), **kwargs: _answer())
