"""tests/golden/detection.json: what torchvision's own code makes, in double, of the parts that
src/ops/ has of RetinaNet and Faster R-CNN: losses with their gradients, proposals, drawn rois, RoIAlign
with its gradient, detections. Needs torch and torchvision.

Tensors follow from rule.py's `uniform` and a name, in our layout [N, channels, H, W], channel
anchor * classes + class or anchor * 4 + delta; tests/ops/detection_golden_test.cpp makes the same.
Three pictures of 0, 1 and 30 boxes. Random draws are ours: the smallest Philox lots. A gradient is
told by its norm and by samples [flat index, value]."""
import json
import pathlib
import sys
import types

import torch

import rule
import torchvision_ops  # noqa: F401, before torchvision
from make_boxes import anchors_of, boxes_of
from torchvision.models.detection import _utils, retinanet, roi_heads, rpn
from torchvision.ops import poolers

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "detection.json"
CANVAS = 128
CLASSES = 5
EXTENTS = [(128, 128), (100, 128), (128, 90)]
KEY, SEED, FIRST_SAMPLE = 1234567890123, 77, 1000
SIZES = [(16, 20, 25), (32, 40, 50), (64, 80, 101), (96, 120, 152), (128, 161, 203)]
RPN_SIZES = [(16,), (32,), (64,), (96,), (128,)]


def philox(key, low, high):
    """Philox4x32-10, as base/random.h."""
    c = [low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Sampler:
    """In place of torchvision's BalancedPositiveNegativeSampler."""

    def __init__(self, number, share):
        self.number, self.share = number, share

    def __call__(self, labels_of_images):
        positive, negative = [], []
        for n, labels in enumerate(labels_of_images):
            def smallest(candidates, most):
                lots = []
                for i in candidates.tolist():
                    words = philox(KEY ^ SEED, FIRST_SAMPLE + n, i)
                    lots.append((words[0] | words[1] << 32, i))
                mask = torch.zeros(len(labels), dtype=torch.uint8)
                mask[[i for _, i in sorted(lots)[:most]]] = 1
                return mask
            taken = smallest(torch.where(labels >= 1)[0], int(self.number * self.share))
            rest = smallest(torch.where(labels == 0)[0], self.number - int(taken.sum()))
            positive.append(taken)
            negative.append(rest)
        return positive, negative


def tensor(name, shape, factor=1.0, shift=0.0):
    return (torch.tensor(rule.uniform(name, shape)) * factor + shift).requires_grad_()


def flat(x, columns):
    """[N, A * columns, H, W] as torchvision has it: [N, H * W * A, columns]."""
    n, channels, h, w = x.shape
    return x.view(n, channels // columns, columns, h, w).permute(0, 3, 4, 1, 2).reshape(
        n, -1, columns)


def gradients(loss, tensors):
    result = []
    for gradient in torch.autograd.grad(loss, tensors, retain_graph=True):
        values = gradient.reshape(-1)
        nonzero = torch.where(values != 0)[0]
        picked = nonzero[torch.linspace(0, len(nonzero) - 1, min(12, len(nonzero))).long()]
        result.append({"norm": values.norm().item(),
                       "samples": [[i, values[i].item()] for i in picked.tolist()]})
    return result


def truth():
    targets = []
    for n, count in enumerate((0, 1, 30)):
        boxes = [b for b in boxes_of(f"detection/{count}", count, CANVAS, CANVAS)]
        boxes = [[x0, y0, min(x1, CANVAS), min(y1, CANVAS)] for x0, y0, x1, y1 in boxes]
        labels = [int(v) % CLASSES for v in rule.bits(f"detection/labels/{count}", count)]
        targets.append({"boxes": torch.tensor(boxes, dtype=torch.float64).reshape(-1, 4),
                        "labels": torch.tensor(labels, dtype=torch.int64)})
    return targets


def make_retinanet(targets):
    anchors, levels = anchors_of(SIZES, CANVAS, CANVAS, 3)
    anchors = anchors.double()
    logits = [tensor(f"retinanet/logits/{i}", (3, 9 * CLASSES, h, w), 3.0, -2.5)
              for i, (h, w) in enumerate(levels)]
    deltas = [tensor(f"retinanet/deltas/{i}", (3, 36, h, w)) for i, (h, w) in enumerate(levels)]
    outputs = {"cls_logits": torch.cat([flat(x, CLASSES) for x in logits], 1),
               "bbox_regression": torch.cat([flat(x, 4) for x in deltas], 1)}
    matcher = _utils.Matcher(0.5, 0.4, allow_low_quality_matches=True)
    matches = []
    for t in targets:
        if t["boxes"].numel() == 0:
            matches.append(torch.full((len(anchors),), -1))
        else:
            matches.append(matcher(retinanet.box_ops.box_iou(t["boxes"], anchors)))
    head = retinanet.RetinaNetClassificationHead(8, 9, CLASSES)
    loss = head.compute_loss(targets, outputs, matches)
    golden = {"levels": levels, "sizes": [list(s) for s in SIZES],
              "positives": [int((m >= 0).sum()) for m in matches],
              "focal": {"loss": loss.item(), "gradients": gradients(loss, logits)}}
    head = retinanet.RetinaNetRegressionHead(8, 9)
    for kind in ("l1", "giou"):
        head._loss_type = kind
        loss = head.compute_loss(targets, outputs, [anchors] * 3, matches)
        golden[kind] = {"loss": loss.item(), "gradients": gradients(loss, deltas)}
    settings = types.SimpleNamespace(score_thresh=0.05, topk_candidates=100, nms_thresh=0.5,
                                     detections_per_img=60,
                                     box_coder=_utils.BoxCoder((1.0, 1.0, 1.0, 1.0)))
    per_level = anchors.split([h * w * 9 for h, w in levels])
    found = retinanet.RetinaNet.postprocess_detections(
        settings, {"cls_logits": [flat(x, CLASSES) for x in logits],
                   "bbox_regression": [flat(x, 4) for x in deltas]},
        [list(per_level)] * 3, EXTENTS)
    golden["detections"] = lists(found)
    return golden


def lists(found):
    return [[[*box, score, label] for box, score, label in
             zip(f["boxes"].tolist(), f["scores"].tolist(), f["labels"].tolist())] for f in found]


def make_rpn(targets):
    anchors, levels = anchors_of(RPN_SIZES, CANVAS, CANVAS, 2)
    anchors = anchors.double()
    scores = [tensor(f"rpn/scores/{i}", (3, 3, h, w), 2.0) for i, (h, w) in enumerate(levels)]
    deltas = [tensor(f"rpn/deltas/{i}", (3, 12, h, w), 0.5) for i, (h, w) in enumerate(levels)]
    net = rpn.RegionProposalNetwork(
        None, None, 0.7, 0.3, 64, 0.5, {"training": 200, "testing": 200},
        {"training": 100, "testing": 100}, 0.7)
    net.fg_bg_sampler = Sampler(64, 0.5)
    objectness, regression = rpn.concat_box_prediction_layers(scores, deltas)
    proposals = net.box_coder.decode(regression.detach(), [anchors] * 3).view(3, -1, 4)
    boxes, _ = net.filter_proposals(proposals, objectness, EXTENTS, [h * w * 3 for h, w in levels])
    labels, matched = net.assign_targets_to_anchors([anchors] * 3, targets)
    wanted = net.box_coder.encode(matched, [anchors] * 3)
    labels = [v.double() for v in labels]  # they are f32 whatever the scores are
    score_loss, box_loss = net.compute_loss(objectness, regression, labels, wanted)
    return {"levels": levels, "sizes": [list(s) for s in RPN_SIZES],
            "proposals": [b.tolist() for b in boxes],
            "objectness": {"loss": score_loss.item(), "gradients": gradients(score_loss, scores)},
            "box": {"loss": box_loss.item(), "gradients": gradients(box_loss, deltas)}}, boxes


def make_heads(targets, proposals):
    number = 48
    heads = roi_heads.RoIHeads(None, None, None, 0.5, 0.5, number, 0.25, None, 0.05, 0.5, 40)
    heads.fg_bg_sampler = Sampler(number, 0.25)
    shifted = [{"boxes": t["boxes"], "labels": t["labels"] + 1} for t in targets]
    rois, _, labels, wanted = heads.select_training_samples(proposals, shifted)
    rows = sum(len(r) for r in rois)
    logits = tensor("heads/logits", (rows, CLASSES + 1), 2.0)
    deltas = tensor("heads/deltas", (rows, 4 * (CLASSES + 1)))
    score_loss, box_loss = roi_heads.fastrcnn_loss(logits, deltas, labels, wanted)
    tests = [p[:30] for p in proposals]
    logits_t = tensor("heads/test/logits", (90, CLASSES + 1), 2.0)
    deltas_t = tensor("heads/test/deltas", (90, 4 * (CLASSES + 1)))
    boxes, scores, found = heads.postprocess_detections(logits_t, deltas_t, tests, EXTENTS)
    for one in found:
        one -= 1
    return {"number": number, "rois": [r.tolist() for r in rois],
            "labels": [v.tolist() for v in labels],
            "targets": [torch.where((v > 0)[:, None], w, 0.0).tolist() for w, v in zip(wanted, labels)],
            "scores": {"loss": score_loss.item(), "gradients": gradients(score_loss, [logits])},
            "box": {"loss": box_loss.item(), "gradients": gradients(box_loss, [deltas])},
            "detections": lists([{"boxes": b, "scores": s, "labels": v}
                                 for b, s, v in zip(boxes, scores, found)])}


def make_roi_align():
    python_roi_align = sys.modules["torchvision.ops.roi_align"]._roi_align.__wrapped__
    poolers.roi_align = lambda x, boxes, output_size, spatial_scale, sampling_ratio: (
        python_roi_align(x, boxes, spatial_scale, *output_size, sampling_ratio, False))
    side, channels, count = 512, 5, 12
    levels = [tensor(f"roi_align/level/{i}", (2, channels, side >> i, side >> i))
              for i in (2, 3, 4, 5)]
    rois = []
    for n in range(2):
        draws = rule.uniform(f"roi_align/rois/{n}", (count, 4))
        x0, y0 = 230 + 230 * draws[:, 0], 230 + 230 * draws[:, 1]
        scale = 4.0 ** (1.5 + 3 * (draws[:, 2:] + 1) / 2)  # from 8 to 512
        rois.append(torch.tensor([[a, b, min(a + w, side), min(b + h, side)]
                                  for a, b, (w, h) in zip(x0, y0, scale)]))
    # Within a cell of the edge: beyond it this Python clamps where torchvision's kernels take 0.
    rois[0][0] = torch.tensor([-3.0, -2.0, 30.0, 20.0])
    rois[0][1] = torch.tensor([10.0, 300.0, 60.0, 515.0])
    rois[1][0] = torch.tensor([0.0, 0.0, 500.0, 480.0])  # of the last level
    rois[1][1] = torch.tensor([100.0, 50.0, 400.0, 330.0])
    rois[1][2] = torch.tensor([224.0, 0.0, 448.0, 224.0])  # where a level begins
    rois[1][3] = torch.tensor([40.0, 40.0, 40.0, 40.0])  # no area
    pool = poolers.MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2)
    out = pool({str(i): x for i, x in enumerate(levels)}, rois, [(side, side)] * 2)
    dy = torch.tensor(rule.uniform("roi_align/dy", tuple(out.shape)))
    values = out.detach().reshape(-1)
    return {"rois": [r.tolist() for r in rois], "norm": values.norm().item(),
            "samples": [[i, values[i].item()] for i in range(0, len(values), 97)],
            "gradients": gradients((out * dy).sum(), levels)}


def main():
    targets = truth()
    first, proposals = make_rpn(targets)
    golden = {"torch": torch.__version__, "canvas": CANVAS, "classes": CLASSES,
              "extents": EXTENTS, "key": KEY, "seed": SEED, "first_sample": FIRST_SAMPLE,
              "boxes": [t["boxes"].tolist() for t in targets],
              "labels": [t["labels"].tolist() for t in targets],
              "retinanet": make_retinanet(targets), "rpn": first,
              "heads": make_heads(targets, proposals), "roi_align": make_roi_align()}
    OUT.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(golden["retinanet"]["positives"], [len(d) for d in golden["retinanet"]["detections"]],
          [len(p) for p in golden["rpn"]["proposals"]],
          [len(d) for d in golden["heads"]["detections"]],
          [sum(v > 0 for v in x) for x in golden["heads"]["labels"]])


if __name__ == "__main__":
    main()
