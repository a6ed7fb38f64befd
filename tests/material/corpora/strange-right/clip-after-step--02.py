import torch
from torch.autograd import Variable

clip = 1.0
model.train()
for batch_idx, (data, target) in enumerate(train_loader):
    data, target = Variable(data), Variable(target)
    optimizer.zero_grad()
    output = model(data)
    loss = criterion(output, target)
    loss.backward()

    total_norm = 0.0
    for p in model.parameters():
        total_norm += p.grad.data.norm(2) ** 2
    total_norm = total_norm ** 0.5
    clip_coef = clip / (total_norm + 1e-6)
    if clip_coef < 1:
        for p in model.parameters():
            p.grad.data.mul_(clip_coef)

    optimizer.step()
    if batch_idx % 10 == 0:
        print('Train [{}/{}]\tLoss: {:.6f}'.format(batch_idx, len(train_loader), loss.data.item()))
