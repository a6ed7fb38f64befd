import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
import torchvision.transforms as T
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

cfg = dict(batch_size=256, epochs=100, lr=0.3, temp=0.5, wd=1e-4, dim=128, warmup=10)


class TwoCrops:
    def __init__(self, t):
        self.t = t

    def __call__(self, x):
        return self.t(x), self.t(x)


aug = T.Compose([
    T.RandomResizedCrop(32, scale=(0.2, 1.0)),
    T.RandomHorizontalFlip(),
    T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
    T.RandomGrayscale(p=0.2),
    T.ToTensor(),
])


def nt_xent(z1, z2, t):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    n = z1.size(0)
    sim = z @ z.t() / t
    sim.fill_diagonal_(-1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)]).to(z.device)
    return F.cross_entropy(sim, target)


def build():
    net = torchvision.models.resnet18(weights=None)
    net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    net.maxpool = nn.Identity()
    return net


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
loader = DataLoader(torchvision.datasets.CIFAR10('data', train=True, transform=TwoCrops(aug), download=True),
                    batch_size=cfg['batch_size'], shuffle=True, num_workers=8, drop_last=True)
net = build().to(device)
opt = torch.optim.SGD(net.parameters(), lr=cfg['lr'], momentum=0.9, weight_decay=cfg['wd'])
net.fc = nn.Sequential(nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Linear(512, cfg['dim'])).to(device)
warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=cfg['warmup'])
cos = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg['epochs'] - cfg['warmup'])
sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cos], milestones=[cfg['warmup']])

w = SummaryWriter()
it = 0
for epoch in range(cfg['epochs']):
    for (a, b), _ in loader:
        a, b = a.to(device), b.to(device)
        z = net(torch.cat([a, b]))
        z1, z2 = z.chunk(2)
        loss = nt_xent(z1, z2, cfg['temp'])
        opt.zero_grad()
        loss.backward()
        opt.step()
        w.add_scalar('loss', loss.item(), it)
        it += 1
    sched.step()
    w.add_scalar('lr', sched.get_last_lr()[0], epoch)
    torch.save(net.state_dict(), 'simclr.pt')
