import os, json, argparse
import numpy as np
import torch
import torch.nn as nn
from torch.cuda.amp import autocast, GradScaler
from torch.utils.data import Dataset, DataLoader
from tqdm import tqdm
import wandb


class Keypoints(Dataset):
    def __init__(self, root, split):
        self.root = root
        with open(os.path.join(root, f'{split}.json')) as f:
            self.ann = json.load(f)

    def __len__(self):
        return len(self.ann)

    def __getitem__(self, i):
        a = self.ann[i]
        img = np.load(os.path.join(self.root, a['image'])).astype('float32') / 255.
        hm = np.zeros((len(a['kps']), 64, 64), 'float32')
        yy, xx = np.mgrid[:64, :64]
        for k, (x, y, v) in enumerate(a['kps']):
            if v:
                hm[k] = np.exp(-((xx - x * 64) ** 2 + (yy - y * 64) ** 2) / (2 * 2 ** 2))
        return torch.from_numpy(img).permute(2, 0, 1), torch.from_numpy(hm)


class Hourglass(nn.Module):
    def __init__(self, depth, ch):
        super().__init__()
        self.up = self._c(ch)
        self.down = nn.Sequential(nn.MaxPool2d(2), self._c(ch))
        self.inner = Hourglass(depth - 1, ch) if depth > 1 else self._c(ch)
        self.out = nn.Sequential(self._c(ch), nn.Upsample(scale_factor=2))

    @staticmethod
    def _c(ch):
        return nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.up(x) + self.out(self.inner(self.down(x)))


class PoseNet(nn.Module):
    def __init__(self, k, stacks=2, ch=128):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, ch, 7, 4, 3), nn.BatchNorm2d(ch), nn.ReLU(inplace=True))
        self.hgs = nn.ModuleList(Hourglass(4, ch) for _ in range(stacks))
        self.preds = nn.ModuleList(nn.Conv2d(ch, k, 1) for _ in range(stacks))
        self.merge = nn.ModuleList(nn.Conv2d(k, ch, 1) for _ in range(stacks))

    def forward(self, x):
        x, outs = self.stem(x), []
        for hg, pr, mg in zip(self.hgs, self.preds, self.merge):
            f = hg(x)
            p = pr(f)
            outs.append(p)
            x = x + f + mg(p)
        return outs


def run(args):
    wandb.init(project='pose', config=vars(args))
    dev = torch.device('cuda')
    loader = DataLoader(Keypoints(args.root, 'train'), args.bs, shuffle=True, num_workers=8, pin_memory=True, drop_last=True)
    net = PoseNet(17).to(dev)
    optim = torch.optim.RMSprop(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(optim, max_lr=args.lr, total_steps=args.epochs * len(loader))
    scaler = GradScaler()
    mse = nn.MSELoss()
    for ep in range(args.epochs):
        net.train()
        for img, hm in tqdm(loader):
            img, hm = img.to(dev), hm.to(dev)
            optim.zero_grad()
            with autocast():
                outs = net(img)
                loss = sum(mse(o, hm) for o in outs)
            scaler.scale(loss).backward()
            scaler.step(optim)
            scaler.update()
            sched.step()
            wandb.log({'loss': loss.item(), 'lr': sched.get_last_lr()[0], 'scale': scaler.get_scale()})
        torch.save({'net': net.state_dict(), 'scaler': scaler.state_dict()}, f'pose_{ep}.pt')


if __name__ == '__main__':
    ap = argparse.ArgumentParser()
    ap.add_argument('--root', default='/data/kps')
    ap.add_argument('--bs', type=int, default=24)
    ap.add_argument('--lr', type=float, default=2.5e-4)
    ap.add_argument('--epochs', type=int, default=90)
    run(ap.parse_args())
