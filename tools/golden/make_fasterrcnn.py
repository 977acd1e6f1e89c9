"""tests/golden/fasterrcnn.json: our Faster R-CNNs by torchvision's code in double, from picture to
proposals, drawn regions, losses, gradients, ten steps of SGD and detections.

    python tools/golden/make_fasterrcnn.py

As make_retinanet.py, which tells of pictures, boxes, weights and gradients; `more` stands there, too.
Random draws are ours: the smallest Philox lots (make_detection.py), by the keys of `keys`, the seed and
the number of the sample, which goes on from step to step. Proposals are clipped to the extents.
"""
import json
import pathlib
import sys

import numpy as np
import torch

import make_retinanet as common
import networks_fasterrcnn as networks
import rule
from make_boxes import hash_of
from make_retinanet import BETA, CLASSES, COUNTS, MOMENTUM, STEPS, batch_norm, extents_of, numbers, short, summary
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.boxes import box_iou
from torchvision.ops.misc import FrozenBatchNorm2d

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "fasterrcnn.json"
SEED = 77
KEYS = {name: rule.fnv1a64(name) >> 1 for name in ("rpn", "roi_heads")}
PARTS = {"rpn_cls_loss": "loss_objectness", "rpn_box_loss": "loss_rpn_box_reg",
         "roi_cls_loss": "loss_classifier", "roi_box_loss": "loss_box_reg"}
# canvas, rate with BatchNorm trained and frozen
RECIPES = {"fasterrcnn_r50": ((32, 64), 5e-5, 5e-5), "fasterrcnn_mini": ((128, 160), 2e-4, 4e-4)}
# Scores and deltas begin small beside what is to be said, and regions differ in what lies under them.
CHANGES = {
    "layer_blocks.0.0/kernel": (0.15, 0.0),
    "layer_blocks.1.0/kernel": (0.2, 0.0),
    "layer_blocks.2.0/kernel": (0.3, 0.0),
    "layer_blocks.3.0/kernel": (0.3, 0.0),
    "rpn.head.cls_logits/kernel": (0.08, 0.0),
    "rpn.head.bbox_pred/kernel": (0.1, 0.0),
    "fc6/kernel": (0.5, 0.0),
    "cls_score/kernel": (0.5, 0.0),
    "box_predictor.bbox_pred/kernel": (0.5, 0.0),
}
OWN_CHANGES = {"fasterrcnn_r50": {".bn3/gamma": (0.2, 0.0)},
               "fasterrcnn_mini": {".bn2/gamma": (0.4, 0.0)}}


def lots(key, sample, indices):
    """Philox4x32-10 of (sample, index), as base/random.h: 64 bits each."""
    mask = np.uint64(0xFFFFFFFF)
    low, high = np.full(len(indices), sample, np.uint64), indices.astype(np.uint64)
    c = [low & mask, low >> np.uint64(32), high & mask, high >> np.uint64(32)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & mask,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0] | c[1] << np.uint64(32)


class Sampler:
    """In place of torchvision's BalancedPositiveNegativeSampler."""

    def __init__(self, key, number, share):
        self.key, self.number, self.share, self.first = key ^ SEED, number, share, 0

    def __call__(self, labels_of_images):
        positive, negative = [], []
        for n, labels in enumerate(labels_of_images):
            def smallest(candidates, most):
                mask = torch.zeros(len(labels), dtype=torch.uint8)
                drawn = lots(self.key, self.first + n, candidates)
                mask[candidates[np.lexsort((candidates, drawn))[:most]]] = 1
                return mask
            taken = smallest(torch.where(labels >= 1)[0].numpy(), int(self.number * self.share))
            rest = smallest(torch.where(labels == 0)[0].numpy(), self.number - int(taken.sum()))
            positive.append(taken)
            negative.append(rest)
        return positive, negative


def names_of(network, model):
    return common.words(model, lambda module: networks.ours(network, module))


def filled(network, norm, dtype):
    model = networks.make(network, CLASSES, norm)
    changes = CHANGES | OWN_CHANGES[network]
    state = model.state_dict()
    for key, name in names_of(network, model).items():
        shape = networks.our_shape(name, tuple(state[key].shape))
        value = networks.to_torch(name, common.value_of(changes, name, shape))
        state[key].copy_(torch.from_numpy(value))
    model = model.to(dtype)
    for stage, part in (("rpn", model.rpn), ("roi_heads", model.roi_heads)):
        old = part.fg_bg_sampler
        part.fg_bg_sampler = Sampler(KEYS[stage], old.batch_size_per_image, old.positive_fraction)
    assign = model.rpn.assign_targets_to_anchors

    def in_its_type(anchors, targets):
        labels, boxes = assign(anchors, targets)
        return [one.to(dtype) for one in labels], [one.to(dtype) for one in boxes]
    model.rpn.assign_targets_to_anchors = in_its_type
    return model


def truth(canvas, dtype):
    """Column 0 of the scores is the background."""
    return [{"boxes": t["boxes"], "labels": t["labels"] + 1}
            for t in common.truth(canvas, dtype)]


def measure(network, norm, rate, dtype):
    canvas = RECIPES[network][0]
    extents = extents_of(canvas)
    images = torch.from_numpy(rule.images((len(COUNTS), 3, *canvas))).to(dtype)
    targets = truth(canvas, dtype)
    model = filled(network, norm, dtype).train()
    names = names_of(network, model)
    drawn = []
    select = model.roi_heads.select_training_samples

    def watched(proposals, targets):
        found = select(proposals, targets)
        drawn.append((found[0], found[2]))
        return found
    model.roi_heads.select_training_samples = watched
    result = {"losses": []}
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
    for step in range(STEPS):
        for part in (model.rpn, model.roi_heads):
            part.fg_bg_sampler.first = step * len(COUNTS)
        optimizer.zero_grad()
        features = model.backbone(images)
        proposals, first = model.rpn(ImageList(images, extents), features, targets)
        _, second = model.roi_heads(features, proposals, extents, targets)
        parts = first | second
        loss = sum(parts.values())
        loss.backward()
        result["losses"].append(loss.item())
        if step == 0:
            result["parts"] = {ours: parts[theirs].item() for ours, theirs in PARTS.items()}
            result["gradients"] = {
                names[key]: networks.to_ours(names[key], value.grad.numpy().copy())
                for key, value in model.named_parameters()}
            result["proposals"] = [len(p) for p in proposals]
            result["rois"], result["labels"] = drawn[0]
        optimizer.step()
    return result


def rows(boxes):
    return [[short(v, 9) for v in box] for box in boxes.tolist()]


def variant(network, norm, rate):
    double = measure(network, norm, rate, torch.float64)
    single = measure(network, norm, rate, torch.float32)
    return {**{name: short(value, 15) for name, value in double["parts"].items()},
            "proposals": double["proposals"], "rois": [rows(r) for r in double["rois"]],
            "roi_labels": [v.tolist() for v in double["labels"]],
            "lr": rate, "losses": numbers(double["losses"]),
            "f32_gap": common.gaps(single, double),
            "gradients": {name: summary(g) for name, g in double["gradients"].items()}}


def evaluated(network):
    """What does not depend on training: anchors, matches, proposals and detections."""
    canvas = RECIPES[network][0]
    extents = extents_of(canvas)
    model = filled(network, batch_norm, torch.float64).eval()
    images = torch.from_numpy(rule.images((len(COUNTS), 3, *canvas))).double()
    with torch.no_grad():
        features = model.backbone(images)
        listed = ImageList(images, extents)
        anchors = model.rpn.anchor_generator(listed, list(features.values()))[0]
        matches = []
        for target in truth(canvas, torch.float64):
            codes = torch.full((len(anchors),), -1)
            if len(target["boxes"]):
                codes = model.rpn.proposal_matcher(box_iou(target["boxes"], anchors))
            matches.append(codes)
        proposals, _ = model.rpn(listed, features)
        found, _ = model.roi_heads(features, proposals, extents)
    return {"anchors": {"count": len(anchors), "hash": str(hash_of(anchors.numpy()))},
            "matches": [str(hash_of(codes.numpy())) for codes in matches],
            "positives": [int((codes >= 0).sum()) for codes in matches],
            "proposals": [rows(p) for p in proposals],
            "detections": [[[*box, short(score, 9), label - 1] for box, score, label in
                            zip(rows(f["boxes"]), f["scores"].tolist(), f["labels"].tolist())]
                           for f in found]}


def golden(network):
    canvas, rate, frozen_rate = RECIPES[network]
    frozen = lambda channels, epsilon: FrozenBatchNorm2d(channels, epsilon)  # noqa: E731
    targets = common.truth(canvas, torch.float64)
    return {"network": network, "batch": len(COUNTS), "image": [3, *canvas], "classes": CLASSES,
            "beta": BETA, "changes": CHANGES | OWN_CHANGES[network], "momentum": MOMENTUM,
            "base": networks.BASES[network], "seed": SEED, "keys": KEYS,
            "boxes": [t["boxes"].tolist() for t in targets],
            "labels": [t["labels"].tolist() for t in targets],
            "extents": extents_of(canvas), **evaluated(network),
            "trained": variant(network, batch_norm, rate),
            "frozen": variant(network, frozen, frozen_rate)}


def main(names):
    torch.set_num_threads(1)
    networks_of = {name: golden(name) for name in names or RECIPES}
    for name, content in networks_of.items():
        print(name, content["positives"], [len(p) for p in content["proposals"]],
              [len(d) for d in content["detections"]])
        for v in ("trained", "frozen"):
            own = content[v]
            print(" ", v, own["proposals"], [sum(x > 0 for x in v) for v in own["roi_labels"]],
                  {part: own[part] for part in PARTS}, own["losses"], own["f32_gap"])
    content = {"framework": "PyTorch " + torch.__version__.split("+")[0], "rule": rule.TEXT,
               "more": common.MORE, "networks": networks_of}
    if not names:
        OUT.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
