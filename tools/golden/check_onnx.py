"""Checks ONNX files that tests/interop/onnx_writer_test.cpp wrote: by onnx's own checker, and by
what onnxruntime computes against our logits and, where there are golden ones, Keras's.

    PLIMSOLL_INTEROP_FILES=folder build/tests/plimsoll_tests --gtest_filter='OnnxFiles*'
    python tools/golden/check_onnx.py folder

Runs in a venv with onnx and onnxruntime.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

import rule

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
TOLERANCE = 1e-4


def gap(got, expected):
    """The largest difference, beside the largest number."""
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def check(path, ours, golden):
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    images = rule.images((ours["batch"], *ours["image"]))
    results = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"image": images})))
    if "outputs" in ours:  # a detector's
        assert set(results) == set(ours["outputs"])
        return max(gap(got, np.reshape(ours["outputs"][name], got.shape))
                   for name, got in results.items())
    logits = results["logits"]
    gaps = [gap(logits, np.reshape(ours["logits"], logits.shape))]
    if golden is not None:
        expected = np.array(golden["eval_logits"]).reshape(-1, logits.shape[1])
        gaps.append(gap(logits[: len(expected)], expected))
    alone = session.run(["logits"], {"image": images[:1]})[0]
    gaps.append(gap(alone, logits[:1]))
    if "probabilities" in results and np.abs(results["probabilities"].sum(axis=1) - 1).max() > 1e-4:
        gaps.append(float("inf"))
    return float(np.max(gaps))  # what is no number stays none, and fails


def main(folder):
    failed = 0
    for path in sorted(pathlib.Path(folder).glob("*.onnx")):
        name = path.name.split(".")[0]
        ours = json.loads((path.parent / f"{name}.logits.json").read_text())
        golden_file = GOLDEN / f"{name}.json"
        golden = json.loads(golden_file.read_text()) if golden_file.exists() else None
        worst = check(path, ours, golden)
        failed += not worst <= TOLERANCE
        print(f"{path.name}: {worst:.1e}{'' if worst <= TOLERANCE else '  FAILED'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1])
