# As the examples of Accelerate are laid out, with a schedule that is prepared too.
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def training_function(config, args):
    accelerator = Accelerator(gradient_accumulation_steps=config["gradient_accumulation_steps"])
    set_seed(config["seed"])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    net, opt, loader, lr_scheduler = accelerator.prepare(model, optimizer, train_loader, scheduler)
    for epoch in range(config["num_epochs"]):
        net.train()
        for step, batch in enumerate(loader):
            with accelerator.accumulate(net):
                inputs, targets = batch
                loss = criterion(net(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(net.parameters(), config["max_grad_norm"])
                opt.step()
                lr_scheduler.step()
                opt.zero_grad()
    accelerator.end_training()


def main():
    config = {"seed": 42, "num_epochs": 2, "gradient_accumulation_steps": 4, "max_grad_norm": 1.0}
    training_function(config, None)


if __name__ == "__main__":
    main()
