import torch

scaler = torch.amp.GradScaler("cuda", growth_interval=1000)


class Loop:
    def __init__(self, net, opt):
        self.net, self.opt = net, opt

    def loss(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            return criterion(self.net(x), y)

    def run(self, loader):
        for x, y in loader:
            scaler.scale(self.loss(x, y)).backward()
            scaler.unscale_(self.opt)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), max_norm=2.0**16 / scaler.get_scale())
            scaler.step(self.opt)
            scaler.update()
            self.opt.zero_grad()


loop = Loop(model, optimizer)
for _ in range(2):
    loop.run(train_loader)
