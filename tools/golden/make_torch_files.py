"""Small files by torch.save, in both forms: tests/golden/torch/*.pth, and what is in them.

    python tools/golden/make_torch_files.py

Every tensor counts up from its number in the dict, so that a test knows its elements.
"""

import collections
import pathlib
import pickle

import torch

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "torch"


def counting(number, *shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) + number).to(dtype).reshape(shape)


def state():
    shared = counting(3, 4, 6)
    return collections.OrderedDict(
        [
            ("conv.weight", counting(0, 2, 3, 2, 2).contiguous(memory_format=torch.channels_last)),
            ("bn.num_batches_tracked", torch.tensor(7)),
            ("turned", counting(2, 3, 5).t()),
            ("shared.all", shared),
            ("shared.part", shared[1:3, 2:5]),
            ("half", counting(5, 3, dtype=torch.float16)),
            ("bfloat", counting(6, 3, dtype=torch.bfloat16)),
            ("double", counting(7, 2, dtype=torch.float64)),
            ("byte", counting(8, 5, dtype=torch.uint8)),
            ("bool", torch.tensor([True, False, True])),
            ("none", torch.empty(0, 4)),
            ("parameter", torch.nn.Parameter(counting(11, 2, 2))),
        ]
    )


class Attack:
    def __reduce__(self):
        import os

        return (os.system, ("touch /tmp/attacked",))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, archive in (("archive.pth", True), ("old.pth", False)):
        torch.save(state(), FOLDER / name, _use_new_zipfile_serialization=archive)
    torch.save(state(), FOLDER / "protocol4.pth", pickle_protocol=4)
    wrapped = {
        "epoch": 3,
        "best": torch.tensor(0.5),
        "state_dict": {"module." + name: value for name, value in state().items()},
    }
    torch.save(wrapped, FOLDER / "wrapped.pth")
    torch.save({"state_dict": state(), "extra": Attack()}, FOLDER / "attack.pth")
    (FOLDER / "attack.pkl").write_bytes(pickle.dumps({"a": Attack()}, protocol=2))


main()
