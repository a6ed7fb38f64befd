class Optimiser:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr

    def step(self):
        for p in self.params:
            p.data -= self.lr * p.grad.data

    def zero_grad(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()


opt = Optimiser(model.parameters(), lr=0.1)
accumulation_steps = 4
opt.zero_grad()
for epoch in range(num_epochs):
    for step, (x, y) in enumerate(train_loader):
        loss = criterion(model(x), y)
        (loss / accumulation_steps).backward()
        if (step + 1) % accumulation_steps == 0 or step + 1 == len(train_loader):
            opt.step()
            opt.zero_grad()
