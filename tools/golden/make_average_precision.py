"""tests/golden/average_precision.json: what pycocotools says of 200 small sets, and what the rule of
VOC's development kit says (2007, and since 2010).

Sets follow from rule.py's bits alone; tests/boxes/average_precision_test.cpp makes the same ones.
They have equal scores and IoUs, crowds, empty pictures, classes without truth, pictures of more than
100 detections, and areas of exactly 1024 and 9216. Numbers are AP, AP50, AP75, AP small, medium,
large, AR 1, 10, 100, small, medium, large; voc is [2007, 2012], means over classes with truth."""
import contextlib
import io
import json
import pathlib

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import rule

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "average_precision.json"
SETS = 200


class Draws:
    def __init__(self, name):
        self.values = [int(v) for v in rule.bits(name, 40000)]
        self.next = 0

    def pick(self, count):
        self.next += 1
        return self.values[self.next - 1] % count


def make_set(number):
    """(classes, pictures); a picture is (truths, found)."""
    d = Draws(f"detections/{number}")
    classes = 1 + d.pick(4)
    unit = 4.0 if number % 2 == 0 else 10.0  # tenths are not exact
    scores = [4, 32, 1024][d.pick(3)]
    pictures = []
    for _ in range(1 + d.pick(6)):
        truths, found = [], []
        for _ in range(0 if d.pick(5) == 0 else 1 + d.pick(14)):
            kind = d.pick(4)
            w = 32.0 if kind == 0 else 96.0 if kind == 1 else (1 + d.pick(1500)) / unit
            h = 32.0 if kind == 0 else 96.0 if kind == 1 else (1 + d.pick(1500)) / unit
            x, y = d.pick(1200) / unit, d.pick(1200) / unit
            area = [1024.0, 9216.0, 1023.5, 9216.5][d.pick(4)] if d.pick(4) == 0 else w * h
            label = d.pick(classes)
            if number % 5 == 0 and label == 0:
                label = classes - 1
            truths.append((x, y, w, h, area, label, d.pick(9) == 0, d.pick(6) == 0))
        many = number % 7 == 0 and d.pick(2) == 0
        for _ in range(90 + d.pick(60) if many else 0 if d.pick(6) == 0 else d.pick(24)):
            label = d.pick(classes)
            if truths and d.pick(4) != 0:
                x, y, w, h, _, of, _, _ = truths[d.pick(len(truths))]
                if d.pick(3) != 0:
                    x, y = x + (d.pick(9) - 4) * w / 16, y + (d.pick(9) - 4) * h / 16
                    w = w * (12 + d.pick(9)) / 16
                if d.pick(5) != 0:
                    label = of
            else:
                kind = d.pick(3)
                w = 32.0 if kind == 0 else 96.0 if kind == 1 else (1 + d.pick(1500)) / unit
                h, x, y = w, d.pick(1200) / unit, d.pick(1200) / unit
            found.append((x, y, w, h, (1 + d.pick(scores)) / scores, label))
        pictures.append((truths, found))
    return classes, pictures


def coco_numbers(classes, pictures):
    truth, found = [], []
    for image, (truths, detections) in enumerate(pictures, 1):
        for x, y, w, h, area, label, crowd, _ in truths:
            truth.append({"id": len(truth) + 1, "image_id": image, "category_id": label + 1,
                          "bbox": [x, y, w, h], "area": area, "iscrowd": int(crowd)})
        for x, y, w, h, score, label in detections:
            found.append({"id": len(found) + 1, "image_id": image, "category_id": label + 1,
                          "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0, "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        sides = []
        for annotations in (truth, found):
            side = COCO()
            side.dataset = {"images": [{"id": i + 1} for i in range(len(pictures))],
                            "categories": [{"id": k + 1} for k in range(classes)],
                            "annotations": annotations}
            side.createIndex()
            sides.append(side)
        run = COCOeval(*sides, "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    return [float(v) for v in run.stats]


def iou(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (a[2] * a[3] + b[2] * b[3] - w * h)


def voc_precision(label, pictures):
    """[2007, 2012] of a class, or None without truth; crowds are not there."""
    boxes = [[t for t in truths if t[5] == label and not t[6]] for truths, _ in pictures]
    positives = sum(not t[7] for truths in boxes for t in truths)
    if positives == 0:
        return None
    found = [(image, f) for image, (_, fs) in enumerate(pictures) for f in fs if f[5] == label]
    found.sort(key=lambda pair: -pair[1][4])  # stable
    taken = [[False] * len(truths) for truths in boxes]
    tp, fp = np.zeros(len(found)), np.zeros(len(found))
    for i, (image, one) in enumerate(found):
        best, which = -np.inf, -1
        for k, t in enumerate(boxes[image]):
            value = iou(one, t)
            if value > best:
                best, which = value, k
        if best > 0.5:
            if boxes[image][which][7]:
                continue
            tp[i] = not taken[image][which]
            fp[i] = taken[image][which]
            taken[image][which] = True
        else:
            fp[i] = 1
    tp, fp = np.cumsum(tp), np.cumsum(fp)
    recall = tp / positives
    precision = tp / np.maximum(tp + fp, np.finfo(np.float64).eps)
    old = 0.0
    for t in np.arange(0.0, 1.1, 0.1):
        old += (np.max(precision[recall >= t]) if np.sum(recall >= t) else 0) / 11
    r = np.concatenate(([0.0], recall, [1.0]))
    p = np.concatenate(([0.0], precision, [0.0]))
    for i in range(p.size - 1, 0, -1):
        p[i - 1] = max(p[i - 1], p[i])
    i = np.where(r[1:] != r[:-1])[0]
    return [float(old), float(np.sum((r[i + 1] - r[i]) * p[i + 1]))]


def main():
    sets = []
    for number in range(SETS):
        classes, pictures = make_set(number)
        voc = [v for v in (voc_precision(k, pictures) for k in range(classes)) if v is not None]
        mean = [sum(v[i] for v in voc) / len(voc) if voc else -1.0 for i in (0, 1)]
        sets.append({"boxes": sum(len(t) for t, _ in pictures),
                     "found": sum(len(f) for _, f in pictures),
                     "coco": coco_numbers(classes, pictures), "voc": mean})
    OUT.write_text(json.dumps({"sets": sets}, indent=None, separators=(",", ":")) + "\n")
    print(sum(s["found"] for s in sets), max(s["found"] for s in sets),
          np.mean([s["coco"] for s in sets], axis=0))


if __name__ == "__main__":
    main()
