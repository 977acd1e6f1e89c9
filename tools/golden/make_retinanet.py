"""tests/golden/retinanet.json: our RetinaNets by torchvision's code in double, from picture to losses,
gradients, ten steps of SGD and detections.

    python tools/golden/make_retinanet.py

Three pictures with 0, 1 and 30 boxes; extents are what detections are clipped to. Weights are
rule.py's, with what stands in `more`. Classes have no background: torchvision is given as many and
labels from 0. Matches are told by their hash (make_boxes.py), a gradient by its norm and by samples
[flat index, value]. `frozen`: BatchNorms are constants, of moving statistics. The statistics after
training are not compared: PyTorch's variance is unbiased.
"""
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

import networks_retinanet as networks
import rule
from make_boxes import boxes_of, hash_of
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.boxes import box_iou
from torchvision.ops.misc import FrozenBatchNorm2d

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "retinanet.json"
STEPS, MOMENTUM, CLASSES, BETA = 10, 0.9, 5, 0.5
COUNTS = (0, 1, 30)
# canvas, rate with BatchNorm trained and frozen
RECIPES = {
    "retinanet_r50": ((64, 96), 2e-5, 4e-6),
    "retinanet_mini": ((128, 160), 1e-3, 5e-4),
    "retinanet_lite0": ((64, 128), 5e-4, 2e-4),
}
MORE = ("moving_mean: 0.2*r; moving_variance: 2+r; then times the factor and plus the shift of the "
        "suffix in `changes` that the weight's name has")
# Outputs begin as those of a trained network, with few scores above 0.05. The last BatchNorm of a
# residual branch is small, so that nothing grows from block to block where statistics are constants.
CHANGES = {
    "layer_blocks.0.0/kernel": (0.15, 0.0),
    "layer_blocks.1.0/kernel": (0.2, 0.0),
    "layer_blocks.2.0/kernel": (0.3, 0.0),
    "cls_logits/bias": (1.0, -4.5),
    "bbox_reg/kernel": (0.25, 0.0),
}
OWN_CHANGES = {
    "retinanet_r50": {".bn3/gamma": (0.2, 0.0), "cls_logits/kernel": (0.3, 0.0)},
    "retinanet_mini": {".bn2/gamma": (0.4, 0.0), "cls_logits/kernel": (0.25, 0.0)},
    "retinanet_lite0": {"cls_logits/kernel": (0.5, 0.0)},
}


def short(value, digits=12):
    return float(f"{value:.{digits}g}")


def numbers(values):
    return [short(value) for value in np.ravel(values)]


def summary(tensor):
    flat = np.ravel(tensor)
    places = sorted({int((k * 0.6180339887498949) % 1.0 * flat.size) for k in range(1, 4)})
    return {"norm": short(np.linalg.norm(flat)),
            "samples": [[place, short(flat[place])] for place in places]}


def value_of(changes, name, shape):
    weight = name.rsplit("/", 1)[1]
    if weight == "moving_mean":
        value = 0.2 * rule.uniform(name, shape)
    elif weight == "moving_variance":
        value = 2.0 + rule.uniform(name, shape)
    else:
        value = rule.parameter(name, shape, BETA).astype(np.float64)
    for suffix, (factor, shift) in changes.items():
        if name.endswith(suffix):
            value = value * factor + shift
    return value.astype(np.float32)


def words(model, ours):
    """Our name of each tensor of the state_dict, "layer/weight"; `ours` names a module's layer."""
    norms = {name for name, module in model.named_modules()
             if isinstance(module, (nn.BatchNorm2d, FrozenBatchNorm2d))}
    names = {}
    for key in model.state_dict():
        module, tensor = key.rsplit(".", 1)
        is_norm = module in norms
        word = {"weight": "gamma" if is_norm else "kernel", "bias": "beta" if is_norm else "bias",
                "running_mean": "moving_mean", "running_var": "moving_variance"}
        if tensor in word:
            names[key] = ours(module) + "/" + word[tensor]
    return names


def batch_norm(channels, epsilon):
    return nn.BatchNorm2d(channels, eps=epsilon)


def names_of(network, model):
    return words(model, lambda module: networks.ours(network, module))


def filled(network, norm, dtype):
    model = networks.make(network, CLASSES, norm)
    changes = CHANGES | OWN_CHANGES[network]
    state = model.state_dict()
    for key, name in names_of(network, model).items():
        state[key].copy_(torch.from_numpy(value_of(changes, name, tuple(state[key].shape))))
    return model.to(dtype)


def truth(canvas, dtype):
    height, width = canvas
    targets = []
    for count in COUNTS:
        boxes = [[x0, y0, min(x1, width), min(y1, height)] for x0, y0, x1, y1 in
                 boxes_of(f"retinanet/{count}", count, height, width)]
        labels = [int(v) % CLASSES for v in rule.bits(f"retinanet/labels/{count}", count)]
        targets.append({"boxes": torch.tensor(boxes, dtype=dtype).reshape(-1, 4),
                        "labels": torch.tensor(labels, dtype=torch.int64)})
    return targets


def extents_of(canvas):
    height, width = canvas
    return [(height, width), (height - 16, width), (height, width - 28)]


def forward(model, images, canvas):
    features = list(model.backbone(images).values())
    outputs = model.head(features)
    anchors = model.anchor_generator(ImageList(images, [canvas] * len(images)), features)
    return outputs, anchors, [f.shape[-2:].numel() * 9 for f in features]


def measure(network, norm, rate, dtype):
    canvas = RECIPES[network][0]
    images = torch.from_numpy(rule.images((len(COUNTS), 3, *canvas))).to(dtype)
    targets = truth(canvas, dtype)
    model = filled(network, norm, dtype).train()
    names = names_of(network, model)
    result = {"losses": [], "cls_losses": [], "box_losses": []}
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
    for step in range(STEPS):
        optimizer.zero_grad()
        outputs, anchors, _ = forward(model, images, canvas)
        parts = model.compute_loss(targets, outputs, anchors)
        loss = parts["classification"] + parts["bbox_regression"]
        loss.backward()
        result["losses"].append(loss.item())
        result["cls_losses"].append(parts["classification"].item())
        result["box_losses"].append(parts["bbox_regression"].item())
        if step == 0:
            result["gradients"] = {names[key]: value.grad.numpy().copy()
                                   for key, value in model.named_parameters()}
        optimizer.step()
    return result


def gaps(single, double):
    """Of float32. Gradients that are zero but for rounding have no digits to compare."""
    norms = {name: np.linalg.norm(g) for name, g in double["gradients"].items()}
    whole = np.sqrt(sum(norm**2 for norm in norms.values()))
    largest = max(np.linalg.norm(single["gradients"][name] - g) / norms[name]
                  for name, g in double["gradients"].items() if norms[name] > 1e-9 * whole)
    losses = np.asarray(double["losses"])
    steps = np.abs(np.asarray(single["losses"]) - losses) / losses
    return {"loss": short(steps[0], 3), "gradients": short(largest, 3),
            "steps": short(steps.max(), 3)}


def variant(network, norm, rate):
    double = measure(network, norm, rate, torch.float64)
    single = measure(network, norm, rate, torch.float32)
    return {"cls_loss": short(double["cls_losses"][0], 15),
            "box_loss": short(double["box_losses"][0], 15),
            "lr": rate, "losses": numbers(double["losses"]),
            "f32_gap": gaps(single, double),
            "gradients": {name: summary(g) for name, g in double["gradients"].items()}}


def evaluated(network):
    """What does not depend on training: anchors, matches, detections and the scores' sizes."""
    canvas = RECIPES[network][0]
    model = filled(network, batch_norm, torch.float64).eval()
    images = torch.from_numpy(rule.images((len(COUNTS), 3, *canvas))).double()
    with torch.no_grad():
        outputs, anchors, cells = forward(model, images, canvas)
        matches = []
        for target in truth(canvas, torch.float64):
            codes = torch.full((len(anchors[0]),), -1)
            if len(target["boxes"]):
                codes = model.proposal_matcher(box_iou(target["boxes"], anchors[0]))
            matches.append(codes)
        split = {key: list(value.split(cells, dim=1)) for key, value in outputs.items()}
        found = model.postprocess_detections(
            split, [list(a.split(cells)) for a in anchors], extents_of(canvas))
    return {"anchors": {"count": len(anchors[0]), "hash": str(hash_of(anchors[0].numpy()))},
            "matches": [str(hash_of(codes.numpy())) for codes in matches],
            "positives": [int((codes >= 0).sum()) for codes in matches],
            "outputs": {key: summary(value.numpy()) for key, value in outputs.items()},
            "detections": [[[*(short(v, 9) for v in box), short(score, 9), label]
                            for box, score, label in zip(f["boxes"].tolist(), f["scores"].tolist(),
                                                         f["labels"].tolist())] for f in found]}


def golden(network):
    canvas, rate, frozen_rate = RECIPES[network]
    frozen = lambda channels, epsilon: FrozenBatchNorm2d(channels, epsilon)  # noqa: E731
    targets = truth(canvas, torch.float64)
    return {"network": network, "batch": len(COUNTS), "image": [3, *canvas], "classes": CLASSES,
            "beta": BETA, "changes": CHANGES | OWN_CHANGES[network], "momentum": MOMENTUM, "base": networks.BASES[network],
            "boxes": [t["boxes"].tolist() for t in targets],
            "labels": [t["labels"].tolist() for t in targets],
            "extents": extents_of(canvas), **evaluated(network),
            "trained": variant(network, batch_norm, rate),
            "frozen": variant(network, frozen, frozen_rate)}


def main(names):
    torch.set_num_threads(1)
    networks_of = {name: golden(name) for name in names or RECIPES}
    for name, content in networks_of.items():
        print(name, content["positives"], [len(d) for d in content["detections"]],
              [(content[v]["cls_loss"], content[v]["box_loss"], content[v]["losses"],
                content[v]["f32_gap"]) for v in ("trained", "frozen")])
    content = {"framework": "PyTorch " + torch.__version__.split("+")[0], "rule": rule.TEXT,
               "more": MORE, "networks": networks_of}
    if not names:
        OUT.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
