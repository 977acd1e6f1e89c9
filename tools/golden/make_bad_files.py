"""Files that mean harm or are not whole, made of tests/golden/interop/tiny.keras: tests/golden/bad/.

    python tools/golden/make_bad_files.py

Needs h5py. Each is refused, or told of, by tests/cli/bad_weights_test.cpp.
"""

import io
import pathlib
import warnings
import zipfile

import h5py

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
FOLDER = GOLDEN / "bad"
DATE = (2020, 1, 1, 0, 0, 0)


def write(name, entries):
    with zipfile.ZipFile(FOLDER / name, "w") as archive:
        for entry, content, method in entries:
            archive.writestr(zipfile.ZipInfo(entry, DATE), content, method)


def main():
    warnings.simplefilter("ignore")  # of two entries with one name
    FOLDER.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(GOLDEN / "interop" / "tiny.keras") as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    stored = [(name, content, zipfile.ZIP_STORED) for name, content in whole.items()]
    write("up.keras", [*stored, ("../../up.txt", b"up", zipfile.ZIP_STORED)])
    write("absolute.keras", [*stored, ("/tmp/absolute.txt", b"absolute", zipfile.ZIP_STORED)])
    write("twice.keras", [*stored, ("config.json", b"{}", zipfile.ZIP_STORED)])
    bomb = b" " * (100 << 20)
    write("bomb.keras", [(name, bomb if name == "config.json" else content, zipfile.ZIP_DEFLATED)
                         for name, content in whole.items()])
    write("packed.keras", [(name, content, zipfile.ZIP_DEFLATED) for name, content in whole.items()])
    # Without the last layer's weights.
    bytes_ = io.BytesIO(whole["model.weights.h5"])
    with h5py.File(bytes_, "a") as file:
        del file["layers/dense"]
    write("headless.keras", [(name, bytes_.getvalue() if name == "model.weights.h5" else content, zipfile.ZIP_STORED)
                             for name, content in whole.items()])


main()
