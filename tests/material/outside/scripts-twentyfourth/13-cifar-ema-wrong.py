'''Train CIFAR10 with PyTorch, evaluate an exponential moving average of the weights.'''
import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torchvision
import torchvision.transforms as transforms


class EMA:
    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.shadow = {}
        self.backup = {}
        for name, param in model.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data.clone()

    def update(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.shadow[name].mul_(self.decay).add_(param.data, alpha=1.0 - self.decay)

    def apply_shadow(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                self.backup[name] = param.data.clone()
                param.data.copy_(self.shadow[name])

    def restore(self):
        for name, param in self.model.named_parameters():
            if param.requires_grad:
                param.data.copy_(self.backup[name])
        self.backup = {}


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.n1 = nn.GroupNorm(4, planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.n2 = nn.GroupNorm(4, planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False)

    def forward(self, x):
        out = F.relu(self.n1(self.conv1(x)))
        out = self.n2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


def ResNetTiny(num_classes=10, w=8):
    return nn.Sequential(
        nn.Conv2d(3, w, 3, padding=1, bias=False),
        BasicBlock(w, w, 2), BasicBlock(w, 2 * w, 2), BasicBlock(2 * w, 4 * w, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * w, num_classes),
    )


parser = argparse.ArgumentParser(description='PyTorch CIFAR10 Training')
parser.add_argument('--lr', default=0.05, type=float, help='learning rate')
parser.add_argument('--data', default='./data', type=str)
parser.add_argument('--epochs', default=4, type=int)
parser.add_argument('--ema-decay', default=0.99, type=float)
parser.add_argument('--ckpt', default='./checkpoint/ckpt.pth', type=str)
args = parser.parse_args()

device = 'cuda' if torch.cuda.is_available() else 'cpu'
torch.manual_seed(5)

# Data
print('==> Preparing data..')
stats = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
transform_train = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize(*stats),
])
transform_test = transforms.Compose([transforms.ToTensor(), transforms.Normalize(*stats)])

trainset = torchvision.datasets.CIFAR10(root=args.data, train=True, download=True, transform=transform_train)
trainloader = torch.utils.data.DataLoader(trainset, batch_size=64, shuffle=True, num_workers=0)
testset = torchvision.datasets.CIFAR10(root=args.data, train=False, download=True, transform=transform_test)
testloader = torch.utils.data.DataLoader(testset, batch_size=100, shuffle=False, num_workers=0)

# Model
print('==> Building model..')
net = ResNetTiny().to(device)
ema = EMA(net, args.ema_decay)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
best_acc = -1.0


def train(epoch):
    net.train()
    train_loss, correct, total = 0, 0, 0
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        ema.update()

        train_loss += loss.item()
        correct += outputs.argmax(1).eq(targets).sum().item()
        total += targets.size(0)
    print('Epoch %d | Loss: %.3f | Acc: %.3f%%' % (epoch, train_loss / len(trainloader), 100. * correct / total))


def test(epoch):
    global best_acc
    net.eval()
    ema.apply_shadow()
    correct, total = 0, 0
    with torch.no_grad():
        for inputs, targets in testloader:
            outputs = net(inputs.to(device))
            correct += outputs.argmax(1).cpu().eq(targets).sum().item()
            total += targets.size(0)
    acc = 100. * correct / total
    print('EMA test acc: %.3f%%' % acc)
    if acc > best_acc:
        os.makedirs(os.path.dirname(args.ckpt) or '.', exist_ok=True)
        torch.save({'net': net.state_dict(), 'acc': acc, 'epoch': epoch}, args.ckpt)
        best_acc = acc


for epoch in range(args.epochs):
    train(epoch)
    test(epoch)
    scheduler.step()
