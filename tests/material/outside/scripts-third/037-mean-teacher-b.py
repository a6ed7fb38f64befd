import copy, math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


def rampup(step, length):
    if step >= length:
        return 1.0
    p = 1.0 - step / length
    return math.exp(-5.0 * p * p)


class Net(nn.Sequential):
    def __init__(self, h=64):
        super().__init__(nn.Linear(2, h), nn.ReLU(), nn.Dropout(0.1), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))


@torch.no_grad()
def update_teacher(student, teacher, step, alpha=0.99):
    alpha = min(1 - 1 / (step + 1), alpha)
    for tp, sp in zip(teacher.parameters(), student.parameters()):
        tp.mul_(alpha).add_(sp, alpha=1 - alpha)


def main():
    torch.manual_seed(0)
    X, y = make_moons(1000, noise=0.1, random_state=0)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    lab = torch.from_numpy(np.r_[np.where(y == 0)[0][:4], np.where(y == 1)[0][:4]])

    student = Net()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)

    for step in range(400):
        student.train(); teacher.train()
        xu = X[torch.randint(0, len(X), (128,))]
        noisy = lambda x: x + 0.05 * torch.randn_like(x)
        sup = F.cross_entropy(student(noisy(X[lab])), y[lab])
        with torch.no_grad():
            t_prob = teacher(noisy(xu)).softmax(1)
        s_prob = student(noisy(xu)).softmax(1)
        cons = F.mse_loss(s_prob.detach(), t_prob)
        loss = sup + 10.0 * rampup(step, 200) * cons

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(student, teacher, step)

        if step % 100 == 99:
            teacher.eval()
            with torch.no_grad():
                acc = (teacher(X).argmax(1) == y).float().mean().item()
            print(f'step {step + 1}: sup {sup.item():.3f} cons {cons.item():.4f} teacher acc {acc:.3f}')


if __name__ == '__main__':
    main()
