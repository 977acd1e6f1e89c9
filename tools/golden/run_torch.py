"""One measurement of a network with PyTorch in float64, as a check of the Keras one.

`measure(network, recipe)` gives loss, logits, gradients, moving statistics and the losses of
ten steps of SGD, in the same dict as run_keras.measure.
"""

import torch
import torch.nn.functional as F

import networks_torch
import rule
from recipes import OPTIMIZERS, STEPS

VERSION = torch.__version__.split("+")[0]

torch.set_num_threads(1)


def measure(network, recipe):
    images = torch.from_numpy(rule.images((recipe["batch"], *recipe["image"]))).double()
    labels = torch.from_numpy(rule.labels(recipe["batch"], recipe["classes"])).long()
    graph = networks_torch.Graph(recipe["beta"])

    def forward():
        logits = networks_torch.NETWORKS[network](graph, images, recipe["classes"])
        return logits, F.cross_entropy(logits, labels)

    logits, loss = forward()
    loss.backward()
    result = {
        "loss": loss.item(),
        "logits": logits.detach().numpy(),
        "gradients": {name: p.grad.numpy().copy() for name, p in graph.parameters.items()},
        "moving": {name: value.numpy() for name, value in graph.moving.items()},
    }
    optimizer = torch.optim.SGD(
        graph.parameters.values(), lr=recipe["rates"]["sgd"], **OPTIMIZERS["sgd"]
    )
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = forward()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result["losses"] = {"sgd": losses}
    return result
