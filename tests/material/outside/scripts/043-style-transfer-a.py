"""Texture transfer: optimise the pixels so that random-conv Gram matrices match a style image."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, STEPS = 48, 6
STYLE_W, CONTENT_W, TV_W = 3e3, 1.0, 1e-2


def grid():
    g = torch.linspace(0, 1, SIZE)
    return torch.meshgrid(g, g, indexing="ij")


def content_image():
    y, x = grid()
    disc = (((x - 0.5) ** 2 + (y - 0.5) ** 2) < 0.1).float()
    return torch.stack([disc, 0.5 * disc + 0.2, 1 - disc]).unsqueeze(0)


def style_image():
    y, x = grid()
    return torch.stack([(40 * x).sin(), (40 * (x + y)).sin(), (25 * y).cos()]).unsqueeze(0) * 0.5 + 0.5


class Features(nn.Module):
    def __init__(self, widths=(3, 16, 32)):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for i, o in zip(widths[:-1], widths[1:]))
        for conv in self.convs:
            nn.init.kaiming_normal_(conv.weight)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        out = []
        for conv in self.convs:
            x = F.relu(conv(x))
            out.append(x)
            x = F.avg_pool2d(x, 2)
        return out


def gram(f):
    b, c, h, w = f.shape
    f = f.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


def tv(x):
    return (x[..., 1:] - x[..., :-1]).abs().mean() + (x[..., 1:, :] - x[..., :-1, :]).abs().mean()


def main():
    net = Features()
    content, style = content_image(), style_image()
    content_f = net(content)[-1]
    style_g = [gram(f) for f in net(style)]

    image = content.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS([image], lr=1.0, max_iter=8, line_search_fn="strong_wolfe")
    # start from a slightly noisy content image
    image = (0.9 * image + 0.1 * torch.rand_like(image)).detach().requires_grad_(True)
    for step in range(STEPS):
        def closure():
            optimizer.zero_grad()
            feats = net(image)
            style_loss = sum(F.mse_loss(gram(f), g) for f, g in zip(feats, style_g))
            content_loss = F.mse_loss(feats[-1], content_f)
            loss = STYLE_W * style_loss + CONTENT_W * content_loss + TV_W * tv(image)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        with torch.no_grad():
            image.clamp_(0, 1)
        print(f"step {step}: loss {loss.item():.5f}")
    torch.save(image.detach(), "stylised.pt")


if __name__ == "__main__":
    main()
