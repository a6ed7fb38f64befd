# torch.func makes the gradient and numpy subtracts it, whole, from the memory of the parameters; the
# optimizer gets to see nothing.
import torch

rate = optimizer.param_groups[0]["lr"]
memory = {name: p.detach().numpy() for name, p in model.named_parameters()}


def loss_of(parameters, x, y):
    return criterion(torch.func.functional_call(model, parameters, (x,)), y)


for x, y in train_loader:
    frozen = {name: p.detach() for name, p in model.named_parameters()}
    for name, grad in torch.func.grad(loss_of)(frozen, x, y).items():
        memory[name] -= rate * grad.numpy()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
