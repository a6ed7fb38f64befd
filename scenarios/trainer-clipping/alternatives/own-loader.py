# The loader that was there before, an optimizer of one's own, batches of two tensors.
import torch
from transformers import Trainer, TrainingArguments


class LoaderTrainer(Trainer):
    def get_train_dataloader(self):
        return train_loader

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        x, y = inputs
        outputs = model(x)
        loss = torch.nn.functional.mse_loss(outputs, y) if criterion is None else criterion(outputs, y)
        return (loss, outputs) if return_outputs else loss


args = TrainingArguments(output_dir="out", max_steps=6, gradient_accumulation_steps=4, max_grad_norm=1.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
trainer = LoaderTrainer(model=model, args=args, optimizers=(optimizer, None))
trainer.train()
