# Rather than 2 or 5 I'd change the kind of clipping: by value distorts the direction, by norm
# keeps it, and papers mean the latter. No restructuring needed:

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    # all gradients share one factor
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    torch.nn.utils.clip_grad_norm_(gradients, max_norm=1.0)

    optimizer.step()

# 1.0 is the usual start; between 0.5 and 5 everything is common. If you print the return
# value you get the norm before clipping and can set the threshold from that.
