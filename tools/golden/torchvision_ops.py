"""Import this before torchvision: its compiled ops do not load into every torch, so what its Python
asks for is defined here, in Python and in double."""
import torch
from torch import library

library.define("torchvision::nms", "(Tensor dets, Tensor scores, float t) -> Tensor")
library.define(
    "torchvision::qnms", "(Tensor dets, Tensor scores, float t, float scale, float zero) -> Tensor")


@library.impl("torchvision::nms", "CPU")
def nms(boxes, scores, threshold):
    boxes = boxes.double()
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = torch.sort(scores, descending=True, stable=True)[1]
    gone = torch.zeros(len(boxes), dtype=torch.bool)
    kept = []
    for place, i in enumerate(order.tolist()):
        if gone[i]:
            continue
        kept.append(i)
        rest = order[place + 1:]
        low = torch.maximum(boxes[i, :2], boxes[rest, :2])
        high = torch.minimum(boxes[i, 2:], boxes[rest, 2:])
        shared = (high - low).clamp(min=0).prod(dim=1)
        gone[rest] |= shared / (area[i] + area[rest] - shared) > threshold
    return torch.tensor(kept, dtype=torch.int64)


import torchvision.extension  # noqa: E402, needs the definitions above

torchvision.extension._has_ops = lambda: True
