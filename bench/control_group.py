"""Programs in a memory control group: the kernel as judge."""

import os
import pathlib
import subprocess


class Group:
    """A memory control group (v1 or v2) with a limit and no swap."""

    def __init__(self, limit):
        limit = -(-limit // 4096) * 4096  # the kernel counts pages, and would round down
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        root = v1 if v1.is_dir() else pathlib.Path("/sys/fs/cgroup")
        self.folder = root / f"plimsoll-bench-{os.getpid()}"
        self.folder.mkdir()
        if v1.is_dir():
            (self.folder / "memory.limit_in_bytes").write_text(str(limit))
            swap = self.folder / "memory.memsw.limit_in_bytes"
            if swap.exists():
                swap.write_text(str(limit))
        else:
            (self.folder / "memory.max").write_text(str(limit))
            (self.folder / "memory.swap.max").write_text("0")

    def run(self, command, **more):
        def enter():
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

        return subprocess.run([str(w) for w in command], capture_output=True, text=True, preexec_fn=enter, **more)

    def close(self):
        self.folder.rmdir()


def in_group(limit, command, **more):
    group = Group(limit)
    try:
        return group.run(command, **more)
    finally:
        group.close()
