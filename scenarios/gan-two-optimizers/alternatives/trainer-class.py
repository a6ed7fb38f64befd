class GANTrainer:
    def __init__(self, netG, netD, optG, optD, criterion, device="cpu", z_dim=100, max_norm=1.0):
        self.netG, self.netD = netG.to(device), netD.to(device)
        self.optG, self.optD = optG, optD
        self.criterion = criterion
        self.z_dim, self.max_norm, self.device = z_dim, max_norm, device
    def _d_step(self, real):
        self.optD.zero_grad(set_to_none=True)
        z = torch.randn(real.size(0), self.z_dim, device=self.device)
        with torch.no_grad():
            fake = self.netG(z)
        pr = self.netD(real)
        pf = self.netD(fake)
        loss = self.criterion(pr, torch.ones_like(pr)) + self.criterion(pf, torch.zeros_like(pf))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.netD.parameters(), self.max_norm)
        self.optD.step()
        return loss.item()
    def _g_step(self, n):
        self.optG.zero_grad(set_to_none=True)
        z = torch.randn(n, self.z_dim, device=self.device)
        pf = self.netD(self.netG(z))
        loss = self.criterion(pf, torch.ones_like(pf))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.netG.parameters(), self.max_norm)
        self.optG.step()
        return loss.item()
    def fit(self, loader, epochs):
        for _ in range(epochs):
            for real, _ in loader:
                real = real.to(self.device)
                self._d_step(real)
                self._g_step(real.size(0))
