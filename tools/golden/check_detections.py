#!/usr/bin/env python3
"""Compares what `plimsoll eval --json` says of a detector with what pycocotools makes of the file
that `--detections` wrote in the same evaluation.

    check_detections.py TRUTH.json DETECTIONS.json EVAL.json

TRUTH.json is COCO's annotations: the data itself, or what tools/convert_voc makes of a VOC set.
Exits with 1 if one of the twelve numbers differs by more than 1e-6.
"""
import contextlib
import io
import json
import sys

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

KEYS = ["map", "map50", "map75", "map_small", "map_medium", "map_large",
        "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large"]
MOST = 1e-6


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    truth_path, detections_path, eval_path = sys.argv[1:]
    with open(eval_path) as file:
        ours = json.load(file)
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(truth_path)
        evaluation = COCOeval(truth, truth.loadRes(detections_path), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    worst = 0
    for key, theirs in zip(KEYS, evaluation.stats):
        difference = abs(ours[key] - theirs)
        worst = max(worst, difference)
        print(f"{key:<11} {ours[key]:.9f}  pycocotools {theirs:.9f}  {difference:.1e}")
    print(f"{ours['images']} images, largest difference {worst:.1e}")
    sys.exit(1 if worst > MOST else 0)


if __name__ == "__main__":
    main()
