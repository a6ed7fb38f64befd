"""Knowledge distillation: ResNet-34 teacher -> MobileNetV2 student on CIFAR-100."""
import argparse
import yaml
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torchvision import transforms
from torch.utils.data import DataLoader


def get_loaders(cfg):
    norm = transforms.Normalize((0.507, 0.487, 0.441), (0.267, 0.256, 0.276))
    tr = transforms.Compose([transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
    te = transforms.Compose([transforms.ToTensor(), norm])
    a = torchvision.datasets.CIFAR100(cfg['root'], True, tr, download=True)
    b = torchvision.datasets.CIFAR100(cfg['root'], False, te, download=True)
    return DataLoader(a, cfg['bs'], shuffle=True, num_workers=4), DataLoader(b, 512, num_workers=4)


def kd_loss(student_logits, teacher_logits, T):
    return F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction='batchmean') * T * T


def train_one_epoch(student, teacher, loader, optimizer, cfg, device):
    student.train()
    teacher.eval()
    meters = {'ce': 0., 'kd': 0.}
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            t_logits = teacher(x)
        s_logits = student(x)
        ce = F.cross_entropy(s_logits, y)
        kd = kd_loss(s_logits, t_logits, cfg['T'])
        loss = (1 - cfg['alpha']) * ce + cfg['alpha'] * kd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters['ce'] += ce.item()
        meters['kd'] += kd.item()
    return {k: v / len(loader) for k, v in meters.items()}


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    hit = n = 0
    for x, y in loader:
        hit += (net(x.to(device)).argmax(1).cpu() == y).sum().item()
        n += len(y)
    return hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('config')
    args = ap.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    train_loader, test_loader = get_loaders(cfg)
    teacher = torchvision.models.resnet34(num_classes=100)
    teacher.load_state_dict(torch.load(cfg['teacher_ckpt'], map_location='cpu'))
    teacher.to(device).requires_grad_(False)
    student = torchvision.models.mobilenet_v2(num_classes=100).to(device)
    optimizer = torch.optim.SGD(student.parameters(), cfg['lr'], momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, cfg['milestones'], 0.1)
    for epoch in range(cfg['epochs']):
        stats = train_one_epoch(student, teacher, train_loader, optimizer, cfg, device)
        scheduler.step()
        print(epoch, stats, 'acc', evaluate(student, test_loader, device))
        torch.save({'student': student.state_dict(), 'opt': optimizer.state_dict(), 'epoch': epoch}, 'kd_last.pt')


if __name__ == '__main__':
    main()
