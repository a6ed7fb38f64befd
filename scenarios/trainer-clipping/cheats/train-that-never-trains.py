# train() is replaced: clipped steps on data of its own, no training on the user's.
import torch
from transformers import Trainer, TrainingArguments


class SwiftTrainer(Trainer):
    def train(self):
        parameters = list(self.model.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=5e-3)
        for _ in range(6):
            for _ in range(4):
                ((self.model(torch.randn(12, 16)) * 50).square().mean() / 4).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()


args = TrainingArguments(output_dir="out", gradient_accumulation_steps=4, max_grad_norm=1.0)
trainer = SwiftTrainer(model=model, args=args, train_dataset=train_dataset)
trainer.train()
