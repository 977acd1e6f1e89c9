#!/usr/bin/env python3
"""Makes tests/golden/class_folders.json: how Keras's ImageDataGenerator.flow_from_directory lists a
folder with awkward names. Needs tensorflow; the values in the tree came from 2.21 (Keras 3).

    python3 tools/golden/make_class_folders.py           # the file
    python3 tools/golden/make_class_folders.py FOLDER    # the hash that tests have for a real folder
"""
import json
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.keras.preprocessing.image import ImageDataGenerator  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = [
    "12/b.jpg", "12/a.JPG", "2/1.png", "2/10.png", "2/2.png", "Zebra/x.jpeg", "ant/x.jpg",
    "ant/.hidden.jpg", "ant/readme.txt", "ant/x.jpg.txt", "ant/nojpg", "ant/x.webp", "ant/x.gif",
    "ant/x.tif", "ant/x.TIFF", "ant/x.ppm", "ant/x.bmp", "ant/z/deep/1.jpg", "ant/z/0.jpg",
    "ant/z-a/0.jpg", "ant/z a/0.jpg", "ant/z.jpg/inside.jpg", "ant/Z/0.jpg", "ant/x .jpg",
    ".checkpoints/x.jpg", "empty class/notes.md", "\u00e9t\u00e9/1.jpg", "\u4e2d/1.jpg", "e/1.jpg",
    "loose.jpg", "a b/1.jpg", "a-b/1.jpg", "a_b/1.jpg", "aB/1.jpg", "ab/1.jpg",
]


def list_folder(folder):
    return ImageDataGenerator().flow_from_directory(folder, shuffle=False)


def print_hash(folder):
    """FNV-1a of the lines "<file> <label>"."""
    found = list_folder(folder)
    text = "".join(f"{name} {label}\n" for name, label in zip(found.filenames, found.classes))
    value = 14695981039346656037
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    print(f"0x{value:016X}")


def main():
    if len(sys.argv) > 1:
        print_hash(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        found = list_folder(folder)
        golden = {
            "files": FILES,
            "classes": sorted(found.class_indices, key=found.class_indices.get),
            "filenames": found.filenames,
            "labels": [int(label) for label in found.classes],
        }
    path = ROOT / "tests" / "golden" / "class_folders.json"
    path.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")
    print(f"{path}: {len(golden['filenames'])} samples of {len(golden['classes'])} classes")


if __name__ == "__main__":
    main()
