"""Remakes tests/golden/*_torch.json: torchvision's networks by PyTorch in float64, and TF-Slim's
resnet_v1_50.json.

    python tools/golden/make_torchvision.py [network...]

Fields are those of make.py (README.md); steps are of SGD alone. The moving statistics are not
compared: PyTorch's variance is unbiased.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import rule
from networks_torchvision import NETWORKS

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
STEPS = 10
# batch, image, classes, rate of SGD, beta
RECIPES = {
    "googlenet_torch": (4, [3, 64, 64], 1000, 6e-6, 1.5),
    "mobilenet_v2_torch": (8, [3, 96, 96], 1000, 8e-5, 2.0),
    "resnet50_torch": (8, [3, 96, 96], 1000, 2e-6, 2.5),
    "resnet_v1_50": (8, [3, 96, 96], 1000, 2e-6, 2.5),
    "inception_v3_torch": (4, [3, 139, 139], 1000, 3e-5, 2.0),
}
WORDS = {"running_mean": "moving_mean", "running_var": "moving_variance"}


def short(value):
    return float(f"{value:.12g}")


def numbers(values):
    return [short(value) for value in np.ravel(values)]


def summary(tensor):
    flat = np.ravel(tensor)
    places = sorted({int((k * 0.6180339887498949) % 1.0 * flat.size) for k in range(1, 5)})
    return {
        "norm": short(np.linalg.norm(flat)),
        "samples": [[place, short(flat[place])] for place in places],
    }


def words(model):
    """Our name of each tensor of the state_dict, "module/weight"."""
    norms = {name for name, module in model.named_modules() if isinstance(module, nn.BatchNorm2d)}
    names = {}
    for key in model.state_dict():
        module, tensor = key.rsplit(".", 1)
        if tensor == "num_batches_tracked":
            continue
        is_norm = module in norms
        word = {"weight": "gamma" if is_norm else "kernel", "bias": "beta" if is_norm else "bias"}
        names[key] = module + "/" + (word | WORDS)[tensor]
    return names


def ours(name, tensor):
    """In the logical layout: dense kernels are [in][out]."""
    return tensor.T if tensor.ndim == 2 and name.endswith("/kernel") else tensor


def filled(network, classes, beta, dtype):
    model = NETWORKS[network](classes)
    state = model.state_dict()
    for key, name in words(model).items():
        shape = tuple(ours(name, state[key]).shape)
        state[key].copy_(ours(name, torch.from_numpy(rule.parameter(name, shape, beta))))
    return model.to(dtype)


def measure(network, dtype):
    batch, image, classes, rate, beta = RECIPES[network]
    images = torch.from_numpy(rule.images((batch, *image))).to(dtype)
    labels = torch.from_numpy(rule.labels(batch, classes)).long()
    model = filled(network, classes, beta, dtype)
    names = words(model)
    result = {"parameters": sum(model.state_dict()[key].numel() for key in names)}
    with torch.no_grad():
        result["eval_logits"] = model.eval()(images[:2]).numpy()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(images)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        if step == 0:
            result["logits"] = logits.detach().numpy()
            result["gradients"] = {
                names[key]: ours(names[key], value.grad).numpy().copy()
                for key, value in model.named_parameters()
            }
        optimizer.step()
        losses.append(loss.item())
    result["losses"] = losses
    return result


def gaps(single, double):
    whole = np.sqrt(sum(np.linalg.norm(g) ** 2 for g in double["gradients"].values()))
    largest, vanishing = 0.0, 0.0
    for name, truth in double["gradients"].items():
        norm = np.linalg.norm(truth)
        difference = np.linalg.norm(single["gradients"][name] - truth)
        if norm < 1e-9 * whole:
            vanishing = max(vanishing, difference / whole)
        else:
            largest = max(largest, difference / max(norm, 1e-6 * whole))
    losses = np.asarray(double["losses"])
    return {
        "gradients": short(largest),
        "gradients_vanishing": short(vanishing),
        "sgd": short(np.max(np.abs(np.asarray(single["losses"]) - losses) / losses)),
    }


def golden(network):
    batch, image, classes, rate, beta = RECIPES[network]
    double = measure(network, torch.float64)
    return {
        "network": network,
        "framework": "PyTorch " + torch.__version__.split("+")[0],
        "batch": batch,
        "image": image,
        "classes": classes,
        "beta": beta,
        "rule": rule.TEXT,
        "parameters": double["parameters"],
        "loss": short(double["losses"][0]),
        "logits": numbers(double["logits"]),
        "eval_logits": numbers(double["eval_logits"]),
        "gradients": {name: summary(value) for name, value in double["gradients"].items()},
        "steps": {"sgd": {"lr": rate, "momentum": 0.9, "losses": numbers(double["losses"])}},
        "f32_gap": gaps(measure(network, torch.float32), double),
    }


def main(names):
    for name in names or RECIPES:
        content = golden(name)
        lines = []
        for key, value in content.items():
            text = json.dumps(value)
            if key == "gradients":
                inner = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
                text = "{\n" + inner + "\n  }"
            lines.append(f"  {json.dumps(key)}: {text}")
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        print(name, content["loss"], content["steps"]["sgd"]["losses"][-1], content["f32_gap"])


if __name__ == "__main__":
    main(sys.argv[1:])
