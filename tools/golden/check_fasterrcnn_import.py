#!/usr/bin/env python3
"""Writes torchvision's Faster R-CNN with random weights as state_dicts, takes them through `plimsoll export` to
safetensors and back into torchvision, and compares what both find in a picture; then lets `plimsoll predict` find it.

    tools/golden/check_fasterrcnn_import.py [--program build/plimsoll]

Needs torch, torchvision, safetensors and Pillow. Forms of the file: BatchNorms that were trained; FrozenBatchNorm2d with 91
columns, which is published without an epsilon, by today's names and by those before torchvision 0.14; FrozenBatchNorm2d with
another number of classes. Prints the largest difference of scores and deltas relative to the largest number, more than 1e-3
fails (regions move with rounding, and with them what is read); and the largest distance in pixels of the surest ten boxes from those that plimsoll tells, more than 0.05 fails."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import networks_fasterrcnn
from torch import nn
from torchvision.models.detection.image_list import ImageList
from torchvision.ops.misc import FrozenBatchNorm2d

SIDES = (64, 96)
MEAN, DEVIATION = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


def make(columns, frozen, epsilon):
    norm = ((lambda c, _: FrozenBatchNorm2d(c, epsilon)) if frozen
            else (lambda c, _: nn.BatchNorm2d(c, eps=epsilon)))
    torch.manual_seed(7)
    model = networks_fasterrcnn.make("fasterrcnn_r50", columns - 1, norm)
    for module in model.modules():
        if isinstance(module, (FrozenBatchNorm2d, nn.BatchNorm2d)):
            module.running_mean += 0.1 * torch.randn_like(module.running_mean)
            # Some far below the epsilon.
            module.running_var *= torch.rand_like(module.running_var) + 0.5
            module.running_var[::7] = 3e-6
            module.weight.data[::7] *= 1e-3
    for name, tensor in model.named_parameters():
        if name.startswith("rpn.head") and name.endswith("weight"):
            tensor.data *= 3
        if name.startswith("roi_heads.box_predictor.cls_score"):
            tensor.data *= 20
    return model.eval()


def outputs(model, images):
    """Scores and deltas of regions, which the first stage proposes, and what is found."""
    sizes = [SIDES] * len(images)
    with torch.no_grad():
        features = model.backbone(images)
        proposals, _ = model.rpn(ImageList(images, sizes), features)
        pooled = model.roi_heads.box_head(model.roi_heads.box_roi_pool(features, proposals, sizes))
        found, _ = model.roi_heads(features, proposals, sizes)
        return [x.numpy() for x in model.roi_heads.box_predictor(pooled)], found


def old_names(state):
    renamed = {}
    for key, value in state.items():
        key = re.sub(r"rpn\.head\.conv\.0\.0\.", "rpn.head.conv.", key)
        key = re.sub(r"(fpn\.(?:inner|layer)_blocks\.\d)\.0\.", r"\1.", key)
        renamed[key] = value
    return renamed


def gap(got, expected):
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def distance(told, found):
    """Of the surest ten boxes of torchvision from the nearest of their class that were told."""
    worst = 0.0
    for box, label in list(zip(found["boxes"].tolist(), found["labels"].tolist()))[:10]:
        near = [max(abs(b[c] - v) for c, v in zip(("x0", "y0", "x1", "y1"), box)) for b in told
                if b["name"] == str(label - 1)]
        worst = max(worst, min(near, default=float("inf")))
    return worst


def check(program, folder, name, model, columns, old):
    pixels = np.random.default_rng(3).integers(0, 256, (*SIDES, 3), dtype=np.uint8)
    picture = folder / "picture.png"
    Image.fromarray(pixels).save(picture)
    images = (torch.from_numpy(pixels).float() / 255 - MEAN) / DEVIATION
    images = images.permute(2, 0, 1)[None].contiguous()
    expected, found = outputs(model, images)
    kept = old_names(model.state_dict()) if old else model.state_dict()
    worst, far = 0.0, 0.0
    for ending in (".pth", ".safetensors"):
        path = folder / (name + ending)
        torch.save(kept, path) if ending == ".pth" else save_file(kept, path)
        canvas = ["--image", f"{SIDES[0]}x{SIDES[1]}"]
        back = folder / (name + ".back.safetensors")
        subprocess.run([program, "export", str(path), "--to", str(back), *canvas], check=True,
                       capture_output=True)
        again = make(columns, False, 1e-5)
        again.load_state_dict(load_file(back))
        results, _ = outputs(again, images)
        worst = max([worst] + [gap(r, e) for r, e in zip(results, expected)])
        told = subprocess.run([program, "predict", str(path), str(picture), "--json", "--top", "100", *canvas],
                              check=True, capture_output=True, text=True).stdout
        far = max(far, distance(json.loads(told)[0]["boxes"], found[0]))
    return worst, far, len(found[0]["boxes"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/plimsoll")
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, columns, frozen, epsilon, old in (
                ("trained", 21, False, 1e-5, False), ("published", 91, True, 0.0, False),
                ("published_old", 91, True, 0.0, True), ("frozen", 21, True, 1e-5, False)):
            worst, far, count = check(program, pathlib.Path(folder), name,
                                      make(columns, frozen, epsilon), columns, old)
            failed = failed or not (worst <= 1e-3 and far <= 0.05)
            print(f"{name}: {worst:.1e}, {far:.1e} px of {count} boxes", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
