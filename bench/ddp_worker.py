"""Training steps of one rank of PyTorch's DistributedDataParallel on demand, over gloo.

python ddp_worker.py ddp|ddp_one_bucket NETWORK BATCH IMAGE THREADS RANK RANKS PORT

As worker.py, of which BATCH is the batch of all ranks. ddp: buckets of 25 MiB that leave while backward
runs; ddp_one_bucket: one of 128 MiB, which leaves when backward is done, as Horovod's. Both are
channels_last, with gradients as views of the buckets.
"""

import json
import resource
import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from networks_torch import NETWORKS, classifier
from worker import serve


def main(kind, network, batch, image, threads, rank, ranks, port):
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=int(rank), world_size=int(ranks))
    model, images, loss_of = classifier(NETWORKS[network], int(batch) // int(ranks), int(image))
    model = model.train().to(memory_format=torch.channels_last)
    buckets = {"bucket_cap_mb": 128} if kind == "ddp_one_bucket" else {}
    model = DistributedDataParallel(model, gradient_as_bucket_view=True, **buckets)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = images.to(memory_format=torch.channels_last)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, images)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    serve(step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"version": torch.__version__, "peak_bytes": peak}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
