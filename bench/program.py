"""The program that the scripts of this folder measure."""

import json
import pathlib
import subprocess

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
PROGRAM = BUILD / "plimsoll"
NETWORKS = "inception_v3,xception,googlenet,resnet50,mobilenet_v2,inception_resnet_v2"


def call(*words, program=PROGRAM):
    """The JSON object that a program prints; where it fails, so does the script, with what it said."""
    done = subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)
