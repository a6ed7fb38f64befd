import glob
import torch, torch.nn as nn, torch.nn.functional as F
import torchvision
from PIL import Image
from torchvision.transforms.functional import to_tensor
from torch.utils.data import Dataset, DataLoader

SCALE = 4; CROP = 96


class DIV2K(Dataset):
    def __init__(self, folder): self.files = sorted(glob.glob(folder + '/*.png'))
    def __len__(self): return len(self.files)
    def __getitem__(self, i):
        hr = to_tensor(Image.open(self.files[i]).convert('RGB'))
        y = torch.randint(0, hr.shape[1] - CROP + 1, (1,)).item(); x = torch.randint(0, hr.shape[2] - CROP + 1, (1,)).item()
        hr = hr[:, y:y + CROP, x:x + CROP]
        lr = F.interpolate(hr[None], scale_factor=1 / SCALE, mode='bicubic', antialias=True)[0].clamp(0, 1)
        return lr, hr


class RB(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1); self.b = nn.Conv2d(c, c, 3, padding=1)
    def forward(self, x): return x + 0.1 * self.b(F.relu(self.a(x)))


class EDSR(nn.Module):
    def __init__(self, c=64, n=16):
        super().__init__()
        self.head = nn.Conv2d(3, c, 3, padding=1)
        self.body = nn.Sequential(*[RB(c) for _ in range(n)])
        self.tail = nn.Sequential(nn.Conv2d(c, c * 16, 3, padding=1), nn.PixelShuffle(4), nn.Conv2d(c, 3, 3, padding=1))
    def forward(self, x):
        h = self.head(x)
        return self.tail(h + self.body(h))


class VGGLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.vgg = torchvision.models.vgg19(weights='DEFAULT').features[:36].eval()
        for p in self.vgg.parameters():
            p.requires_grad = False
        self.register_buffer('mean', torch.tensor([.485, .456, .406]).view(1, 3, 1, 1))
        self.register_buffer('std', torch.tensor([.229, .224, .225]).view(1, 3, 1, 1))

    def features(self, x):
        return self.vgg((x - self.mean) / self.std)

    def forward(self, sr, hr):
        with torch.no_grad():
            fake, target = self.features(sr), self.features(hr)
        return F.mse_loss(fake, target)


dev = 'cuda' if torch.cuda.is_available() else 'cpu'
net, vgg = EDSR().to(dev), VGGLoss().to(dev)
opt = torch.optim.Adam(net.parameters(), 1e-4)
sch = torch.optim.lr_scheduler.StepLR(opt, 200, 0.5)
dl = DataLoader(DIV2K('DIV2K_train_HR'), 16, shuffle=True, num_workers=4)
for ep in range(600):
    for lr_img, hr_img in dl:
        lr_img, hr_img = lr_img.to(dev), hr_img.to(dev)
        sr = net(lr_img)
        l_pix, l_vgg = F.l1_loss(sr, hr_img), vgg(sr, hr_img)
        loss = l_pix + 0.006 * l_vgg
        opt.zero_grad(); loss.backward(); opt.step()
    sch.step()
    print(ep, l_pix.item(), l_vgg.item())
    if ep % 50 == 0: torch.save(net.state_dict(), f'edsr_{ep}.pth')
