# softmax regression from scratch, d2l-ish
import torch

torch.manual_seed(0)
num_inputs, num_outputs, batch_size = 20, 4, 32
W = torch.normal(0, 0.01, size=(num_inputs, num_outputs), requires_grad=True)
b = torch.zeros(num_outputs, requires_grad=True)

true_w = torch.randn(num_inputs, num_outputs)
features = torch.randn(1024, num_inputs)
labels = (features @ true_w + 0.5 * torch.randn(1024, num_outputs)).argmax(1)


def data_iter(bs):
    idx = torch.randperm(len(features))
    for i in range(0, len(idx), bs):
        j = idx[i:i + bs]
        yield features[j], labels[j]


def softmax(X):
    e = torch.exp(X - X.max(1, keepdim=True).values)
    return e / e.sum(1, keepdim=True)


def net(X):
    return softmax(X @ W + b)


def cross_entropy(y_hat, y):
    return -torch.log(y_hat[range(len(y_hat)), y] + 1e-12)


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def accuracy():
    with torch.no_grad():
        return (net(features).argmax(1) == labels).float().mean().item()


lr, num_epochs = 0.1, 5
for epoch in range(num_epochs):
    for X, y in data_iter(batch_size):
        l = cross_entropy(net(X), y)
        l.sum().backward()
        sgd([W, b], lr, len(X))
    with torch.no_grad():
        train_l = cross_entropy(net(features), labels).mean()
    print(f'epoch {epoch + 1}, loss {train_l:.4f}, acc {accuracy():.3f}')
