import argparse
import logging
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split
from tqdm import tqdm

logging.basicConfig(level=logging.INFO, format='%(levelname)s: %(message)s')


class CarvanaLikeDataset(Dataset):
    """imgs/<name>.jpg with masks/<name>_mask.png"""

    def __init__(self, root, size=256):
        self.root = Path(root)
        self.size = size
        self.names = sorted(p.stem for p in (self.root / 'imgs').iterdir() if not p.name.startswith('.'))
        if not self.names:
            raise RuntimeError(f'no images in {self.root}')

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        img = Image.open(next((self.root / 'imgs').glob(name + '.*'))).convert('RGB')
        mask = Image.open(next((self.root / 'masks').glob(name + '_mask.*'))).convert('L')
        img = img.resize((self.size, self.size), Image.BILINEAR)
        mask = mask.resize((self.size, self.size), Image.NEAREST)
        img = torch.from_numpy(np.array(img)).permute(2, 0, 1).float() / 255
        mask = torch.from_numpy(np.array(mask) > 127).float()
        return img, mask


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(8, o), nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False), nn.GroupNorm(8, o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, base=32):
        super().__init__()
        b = base
        self.d1, self.d2, self.d3 = double_conv(3, b), double_conv(b, 2 * b), double_conv(2 * b, 4 * b)
        self.mid = double_conv(4 * b, 8 * b)
        self.u3 = nn.ConvTranspose2d(8 * b, 4 * b, 2, 2)
        self.c3 = double_conv(8 * b, 4 * b)
        self.u2 = nn.ConvTranspose2d(4 * b, 2 * b, 2, 2)
        self.c2 = double_conv(4 * b, 2 * b)
        self.u1 = nn.ConvTranspose2d(2 * b, b, 2, 2)
        self.c1 = double_conv(2 * b, b)
        self.out = nn.Conv2d(b, 1, 1)

    def forward(self, x):
        x1 = self.d1(x)
        x2 = self.d2(F.max_pool2d(x1, 2))
        x3 = self.d3(F.max_pool2d(x2, 2))
        x = self.mid(F.max_pool2d(x3, 2))
        x = self.c3(torch.cat([self.u3(x), x3], 1))
        x = self.c2(torch.cat([self.u2(x), x2], 1))
        x = self.c1(torch.cat([self.u1(x), x1], 1))
        return self.out(x).squeeze(1)


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    inter = (p * t).sum(1)
    return (1 - (2 * inter + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


@torch.inference_mode()
def evaluate(net, loader, device):
    net.eval()
    total, n = 0.0, 0
    for img, mask in loader:
        pred = (net(img.to(device)).sigmoid() > 0.5).float().cpu()
        inter = (pred * mask).flatten(1).sum(1)
        total += ((2 * inter + 1e-6) / (pred.flatten(1).sum(1) + mask.flatten(1).sum(1) + 1e-6)).sum().item()
        n += img.size(0)
    net.train()
    return total / max(n, 1)


def train_model(net, device, args):
    dataset = CarvanaLikeDataset(args.root, args.size)
    n_val = max(1, int(len(dataset) * args.val))
    train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val],
                                      generator=torch.Generator().manual_seed(0))
    # drop_last so that all micro-batches have the same size
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True,
                              num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, num_workers=args.workers)

    optimizer = torch.optim.RMSprop(net.parameters(), lr=args.lr, weight_decay=1e-8, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'max', patience=4)
    n_batches = len(train_loader)
    logging.info('%d train batches, %d per optimizer step', n_batches, args.accum)

    optimizer.zero_grad(set_to_none=True)
    for epoch in range(1, args.epochs + 1):
        net.train()
        epoch_loss = 0.0
        with tqdm(total=n_batches, desc=f'Epoch {epoch}/{args.epochs}', unit='batch') as bar:
            for i, (img, mask) in enumerate(train_loader):
                img, mask = img.to(device), mask.to(device)
                # the last window of the epoch may be shorter
                window_start = (i // args.accum) * args.accum
                window = min(args.accum, n_batches - window_start)

                logits = net(img)
                loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
                (loss / window).backward()

                if (i + 1) % args.accum == 0 or (i + 1) == n_batches:
                    torch.nn.utils.clip_grad_norm_(net.parameters(), args.grad_clip)
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)

                epoch_loss += loss.item()
                bar.update(1)
                bar.set_postfix(loss=loss.item())

        dice = evaluate(net, val_loader, device)
        scheduler.step(dice)
        logging.info('epoch %d loss %.4f dice %.4f', epoch, epoch_loss / n_batches, dice)
        Path(args.ckpt).mkdir(parents=True, exist_ok=True)
        torch.save(net.state_dict(), Path(args.ckpt) / f'epoch{epoch}.pth')


def get_args():
    p = argparse.ArgumentParser('Train the UNet on images and target masks')
    p.add_argument('root')
    p.add_argument('--epochs', '-e', type=int, default=20)
    p.add_argument('--batch-size', '-b', type=int, default=2)
    p.add_argument('--accum', type=int, default=8)
    p.add_argument('--lr', '-l', type=float, default=1e-5)
    p.add_argument('--grad-clip', type=float, default=1.0)
    p.add_argument('--size', type=int, default=256)
    p.add_argument('--val', type=float, default=0.1)
    p.add_argument('--workers', type=int, default=4)
    p.add_argument('--base', type=int, default=32)
    p.add_argument('--ckpt', default='checkpoints')
    return p.parse_args()


if __name__ == '__main__':
    args = get_args()
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    logging.info('Using device %s', device)
    net = UNet(args.base).to(device)
    try:
        train_model(net, device, args)
    except KeyboardInterrupt:
        torch.save(net.state_dict(), 'INTERRUPTED.pth')
        logging.info('Saved interrupt')
