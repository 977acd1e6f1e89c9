"""tests/golden/boxes.json: torchvision's anchors and matches, in every element.

Needs torch and torchvision. Where torchvision's compiled ops do not load, its Python does: what this
script uses of it is Python. Elements are told by their hash, FNV-1a over little-endian int32:
  anchors: x0 y0 x1 y1 of every anchor, levels in order, then row, column, shape;
  matches: the codes in the same order; -1 negative, -2 ignored.
Boxes follow from rule.py's bits: see `boxes_of`, which tests/boxes/matching_test.cpp repeats."""
import json
import pathlib
import sys

import numpy as np
import torch

import rule
import torchvision_ops  # noqa: F401, before torchvision
from torchvision.models.detection._utils import Matcher  # noqa: E402
from torchvision.models.detection.anchor_utils import AnchorGenerator  # noqa: E402
from torchvision.models.detection.image_list import ImageList  # noqa: E402
from torchvision.ops.boxes import box_iou  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "boxes.json"
RETINA = [(x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256, 512)]
FASTER = [(x,) for x in (32, 64, 128, 256, 512)]


def hash_of(values):
    value = 14695981039346656037
    for byte in np.asarray(values, "<i4").tobytes():
        value = ((value ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return value


def cells(side, first, count):
    """Of levels P<first>.., each half of the one before, rounded up."""
    sizes = [-(-side // 2**first)]
    while len(sizes) < count:
        sizes.append(-(-sizes[-1] // 2))
    return sizes


def anchors_of(sizes, height, width, first):
    generator = AnchorGenerator(tuple(sizes), ((0.5, 1.0, 2.0),) * len(sizes))
    rows, columns = cells(height, first, len(sizes)), cells(width, first, len(sizes))
    maps = [torch.zeros(1, 1, r, c) for r, c in zip(rows, columns)]
    images = ImageList(torch.zeros(1, 3, height, width), [(height, width)])
    return generator(images, maps)[0], [list(pair) for pair in zip(rows, columns)]


def boxes_of(name, count, height, width):
    """Corners in quarters of a pixel; some boxes twice, some as large as an anchor."""
    draws = [int(v) for v in rule.bits(name, 5 * count)]
    boxes = []
    for i in range(count):
        kind, x, y, w, h = draws[5 * i: 5 * i + 5]
        if kind % 7 == 0 and boxes:
            boxes.append(boxes[x % len(boxes)])
            continue
        x0, y0 = x % (4 * (width - 8)) / 4, y % (4 * (height - 8)) / 4
        if kind % 5 == 0:  # on the grid of anchors
            x0, y0 = x % (width // 32) * 32, y % (height // 32) * 32
            sides = [32, 46, 64, 128]
            boxes.append([x0, y0, x0 + sides[w % 4], y0 + sides[h % 4]])
        else:
            boxes.append([x0, y0, x0 + (1 + w % (2 * width)) / 4, y0 + (1 + h % (2 * height)) / 4])
    return boxes


def main():
    cases = []
    for height, width in ((512, 512), (800, 800), (800, 1344)):
        for model, sizes, first, high, low in (("retinanet", RETINA, 3, 0.5, 0.4),
                                               ("fasterrcnn", FASTER, 2, 0.7, 0.3)):
            anchors, levels = anchors_of(sizes, height, width, first)
            assert torch.equal(anchors, anchors.round())
            case = {"model": model, "canvas": [height, width], "levels": levels,
                    "count": len(anchors), "hash": str(hash_of(anchors.numpy())), "matches": []}
            for count in (0, 1, 30, 200):
                for dtype in (torch.float32, torch.float64):
                    name = f"{model}/{height}x{width}/{count}"
                    boxes = torch.tensor(boxes_of(name, count, height, width), dtype=dtype)
                    if count == 0:
                        codes = torch.full((len(anchors),), -1)
                    else:
                        quality = box_iou(boxes, anchors.to(dtype))
                        assert quality.max(dim=1)[0].min() > 0
                        codes = Matcher(high, low, allow_low_quality_matches=True)(quality)
                    case["matches"].append({
                        "name": name, "boxes": count, "dtype": str(dtype)[6:],
                        "positives": int((codes >= 0).sum()), "ignored": int((codes == -2).sum()),
                        "hash": str(hash_of(codes.numpy()))})
            cases.append(case)
            print(name, len(anchors), case["matches"][-1], file=sys.stderr)
    OUT.write_text(json.dumps({"torch": torch.__version__, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
