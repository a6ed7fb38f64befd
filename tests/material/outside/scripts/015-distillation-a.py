from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

SEED, DIM, CLASSES = 0, 20, 6
TEMPERATURE, ALPHA, MAX_NORM = 4.0, 0.7, 0.25


def make_data(n: int = 1500) -> TensorDataset:
    g = torch.Generator().manual_seed(SEED)
    centers = torch.randn(CLASSES, 3, DIM, generator=g) * 1.5
    y = torch.randint(CLASSES, (n,), generator=g)
    mode = torch.randint(3, (n,), generator=g)
    return TensorDataset(centers[y, mode] + torch.randn(n, DIM, generator=g), y)


def mlp(width: int, depth: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(DIM, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def train_teacher(teacher: nn.Module, loader: DataLoader, epochs: int) -> None:
    opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    teacher.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()


def kd_loss(student_logits: torch.Tensor, teacher_logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    soft = F.kl_div(F.log_softmax(student_logits / TEMPERATURE, 1), F.softmax(teacher_logits / TEMPERATURE, 1),
                    reduction="batchmean") * TEMPERATURE ** 2
    return ALPHA * soft + (1 - ALPHA) * F.cross_entropy(student_logits, y)


def distill(student: nn.Module, teacher: nn.Module, loader: DataLoader, epochs: int) -> None:
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
        p.grad = None
    opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(epochs):
        student.train()
        total = 0.0
        for x, y in loader:
            with torch.no_grad():
                t_logits = teacher(x)
            loss = kd_loss(student(x), t_logits, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(teacher.parameters(), MAX_NORM)
            opt.step()
            total += loss.item() * len(x)
        print(f"distill epoch {epoch}: {total / len(loader.dataset):.4f}")


def main() -> None:
    torch.manual_seed(SEED)
    train_set, test_set = random_split(make_data(), [1200, 300])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)
    teacher, student = mlp(128, 3), mlp(16, 1)
    train_teacher(teacher, train_loader, epochs=5)
    print(f"teacher acc {accuracy(teacher, test_loader):.3f}")
    distill(student, teacher, train_loader, epochs=4)
    print(f"student acc {accuracy(student, test_loader):.3f}")


if __name__ == "__main__":
    main()
