"""CycleGAN (small) on two folders of images."""
import argparse, glob, itertools, os, random
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
import torchvision.transforms as transforms


class ImageDataset(Dataset):
    def __init__(self, root, mode='train', size=128):
        self.tf = transforms.Compose([transforms.Resize(size), transforms.CenterCrop(size), transforms.ToTensor(),
                                      transforms.Normalize((.5,) * 3, (.5,) * 3)])
        self.A = sorted(glob.glob(os.path.join(root, mode + 'A', '*')))
        self.B = sorted(glob.glob(os.path.join(root, mode + 'B', '*')))

    def __len__(self):
        return max(len(self.A), len(self.B))

    def __getitem__(self, i):
        a = Image.open(self.A[i % len(self.A)]).convert('RGB')
        b = Image.open(random.choice(self.B)).convert('RGB')
        return {'A': self.tf(a), 'B': self.tf(b)}


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(True),
                               nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))

    def forward(self, x):
        return x + self.b(x)


def Generator(n=6, c=32):
    m = [nn.ReflectionPad2d(3), nn.Conv2d(3, c, 7), nn.InstanceNorm2d(c), nn.ReLU(True)]
    for k in (1, 2):
        m += [nn.Conv2d(c * k, c * k * 2, 3, 2, 1), nn.InstanceNorm2d(c * k * 2), nn.ReLU(True)]
    m += [Res(c * 4) for _ in range(n)]
    for k in (4, 2):
        m += [nn.ConvTranspose2d(c * k, c * k // 2, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(c * k // 2), nn.ReLU(True)]
    return nn.Sequential(*m, nn.ReflectionPad2d(3), nn.Conv2d(c, 3, 7), nn.Tanh())


def Discriminator(c=64):
    return nn.Sequential(nn.Conv2d(3, c, 4, 2, 1), nn.LeakyReLU(.2, True),
                         nn.Conv2d(c, 2 * c, 4, 2, 1), nn.InstanceNorm2d(2 * c), nn.LeakyReLU(.2, True),
                         nn.Conv2d(2 * c, 1, 4, 1, 1))


class ReplayBuffer:
    def __init__(self, max_size=50):
        self.max_size, self.data = max_size, []

    def push_and_pop(self, batch):
        out = []
        for e in batch.detach():
            e = e.unsqueeze(0)
            if len(self.data) < self.max_size:
                self.data.append(e)
                out.append(e)
            elif random.random() > 0.5:
                i = random.randrange(self.max_size)
                out.append(self.data[i].clone())
                self.data[i] = e
            else:
                out.append(e)
        return torch.cat(out)


p = argparse.ArgumentParser()
p.add_argument('--dataroot', default='datasets/horse2zebra')
p.add_argument('--n_epochs', type=int, default=100)
p.add_argument('--decay_epoch', type=int, default=50)
p.add_argument('--lr', type=float, default=2e-4)
opt = p.parse_args()
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

G_AB, G_BA = Generator().to(device), Generator().to(device)
D_A, D_B = Discriminator().to(device), Discriminator().to(device)
gan_loss, cycle_loss, id_loss = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()

optimizer_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=opt.lr, betas=(0.5, 0.999))
optimizer_D_A = torch.optim.Adam(D_A.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optimizer_D_B = torch.optim.Adam(D_B.parameters(), lr=opt.lr, betas=(0.5, 0.999))
lam = lambda e: 1.0 - max(0, e - opt.decay_epoch) / (opt.n_epochs - opt.decay_epoch)
scheds = [torch.optim.lr_scheduler.LambdaLR(o, lam) for o in (optimizer_G, optimizer_D_A, optimizer_D_B)]
buf_A, buf_B = ReplayBuffer(), ReplayBuffer()
loader = DataLoader(ImageDataset(opt.dataroot), batch_size=1, shuffle=True, num_workers=4)


def d_step(D, optim_D, real, fake):
    optim_D.zero_grad()
    pr, pf = D(real), D(fake)
    loss = 0.5 * (gan_loss(pr, torch.ones_like(pr)) + gan_loss(pf, torch.zeros_like(pf)))
    loss.backward()
    optim_D.step()
    return loss.item()


for epoch in range(opt.n_epochs):
    for i, batch in enumerate(loader):
        real_A, real_B = batch['A'].to(device), batch['B'].to(device)

        optimizer_G.zero_grad()
        loss_id = id_loss(G_BA(real_A), real_A) + id_loss(G_AB(real_B), real_B)
        fake_B, fake_A = G_AB(real_A), G_BA(real_B)
        pred_B, pred_A = D_B(fake_B.detach()), D_A(fake_A.detach())
        loss_gan = gan_loss(pred_B, torch.ones_like(pred_B)) + gan_loss(pred_A, torch.ones_like(pred_A))
        loss_cyc = cycle_loss(G_BA(fake_B), real_A) + cycle_loss(G_AB(fake_A), real_B)
        loss_G = loss_gan + 10.0 * loss_cyc + 5.0 * loss_id
        loss_G.backward()
        optimizer_G.step()

        dA = d_step(D_A, optimizer_D_A, real_A, buf_A.push_and_pop(fake_A))
        dB = d_step(D_B, optimizer_D_B, real_B, buf_B.push_and_pop(fake_B))
        if i % 50 == 0:
            print(f'[{epoch}][{i}/{len(loader)}] G {loss_G.item():.3f} D_A {dA:.3f} D_B {dB:.3f}')
    for s in scheds:
        s.step()
    torch.save({'G_AB': G_AB.state_dict(), 'G_BA': G_BA.state_dict()}, 'cyclegan.pt')
