import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 5))
student = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(list(student.parameters()) + list(teacher.parameters()), lr=1e-3)
T = 2.0

for step in range(300):
    x = torch.randn(64, 16)
    s, t = student(x), teacher(x)
    loss = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction='batchmean') * T * T
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, loss.item())
