#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cells of sluice_gpu_bench by torch: rows with the same columns, in mode `torch graph`.

A DataLoader of four workers gives batches that lie ready (a copy of one tensor each, the best case),
pinned; a stream of its own brings the next one to the device while a CUDA graph of a busy kernel
runs on the one before. The device is waited for after every 100 steps, as at the end of a sink.

    torch_graph.py            all cells, about a minute; exits with 77 without torch or a GPU
    torch_graph.py --columns  their names
"""
import sys
import time

COLUMNS = (
    "mode,step_us,batch_bytes,sink_size,steps,seconds,steps_per_s,share_of_no_data,gb_per_s,"
    "share_of_pinned_copy,launches,syncs,yields,data_wait_share,trainer_cpu_share"
)
PAYLOADS = {8192: 8, 196608: 32, 4194304: 64, 38535168: 256}  # bytes of a batch: its rows
CELLS = [(5, 196608), (50, 196608), (500, 196608), (5000, 196608)]
CELLS += [(50, 8192), (50, 4194304), (50, 38535168), (500, 8192)]
SINK, SECONDS, WORKERS = 100, 1.5, 4


def row(cell, steps, seconds, no_data, pinned, syncs, waited, cpu):
    step_us, size = cell
    rate = steps / seconds
    gb = rate * size / 1e9
    return (
        f"torch graph,{step_us},{size},{SINK},{steps},{seconds:.3f},{rate:.1f},{rate / no_data:.4f},"
        f"{gb:.3f},{gb / pinned:.4f},{steps},{syncs},0,{waited / seconds:.4f},{cpu / seconds:.4f}"
    )


class Ready:
    """A dataset of one batch, again and again."""

    def __init__(self, torch, size):
        rows = PAYLOADS[size]
        self.images = torch.randint(0, 256, (rows, size // rows), dtype=torch.uint8)
        self.labels = torch.arange(rows, dtype=torch.int32)

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        return self.images.clone(), self.labels.clone()


def seconds_of(torch, work):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def pinned_gb_per_s(torch):
    host = torch.ones(64 << 20, dtype=torch.uint8).pin_memory()
    device = torch.empty_like(host, device="cuda")

    def copy():
        for _ in range(20):
            device.copy_(host, non_blocking=True)

    copy()
    return 20 * host.numel() / seconds_of(torch, copy) / 1e9


def busy_graph(torch, step_us):
    """A graph of one busy kernel, and how many of it run in a second."""
    trial = 1 << 24
    torch.cuda._sleep(trial)
    ticks = int(trial / seconds_of(torch, lambda: torch.cuda._sleep(trial)) * step_us * 1e-6)
    graph = torch.cuda.CUDAGraph()
    # Of this thread alone: the loader's, which pins batches meanwhile, would spoil it.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        torch.cuda._sleep(ticks)
    count = 500000 // step_us

    def replay():
        for _ in range(count):
            graph.replay()

    replay()
    return graph, count / seconds_of(torch, replay)


class Prefetch:
    """Two batches on the device: one is read while the other one arrives."""

    def __init__(self, torch, batches):
        self.torch, self.batches = torch, batches
        self.stream = torch.cuda.Stream()
        self.buffers, self.place, self.waited = [None, None], 0, 0.0
        self.read = [torch.cuda.Event(), torch.cuda.Event()]
        self.bring()

    def bring(self):
        begin = time.perf_counter()
        host = next(self.batches)
        self.waited += time.perf_counter() - begin
        place = self.place = 1 - self.place
        with self.torch.cuda.stream(self.stream):
            if self.buffers[place] is None:
                self.buffers[place] = [self.torch.empty_like(t, device="cuda") for t in host]
            self.stream.wait_event(self.read[place])
            for to, from_ in zip(self.buffers[place], host):
                to.copy_(from_, non_blocking=True)

    def take(self, inputs):
        """Into the graph's own tensors, in the current stream; the next batch is then under way."""
        place = self.place
        current = self.torch.cuda.current_stream()
        current.wait_stream(self.stream)
        for to, from_ in zip(inputs, self.buffers[place]):
            to.copy_(from_)
        self.read[place].record(current)
        self.bring()


def run_cell(torch, cell, batches, pinned):
    graph, no_data = busy_graph(torch, cell[0])
    data = Prefetch(torch, batches)
    inputs = [torch.empty_like(t) for t in data.buffers[data.place]]
    steps = syncs = 0
    for _ in range(SINK):  # to get going
        data.take(inputs)
        graph.replay()
    torch.cuda.synchronize()
    data.waited, begin, cpu = 0.0, time.perf_counter(), time.thread_time()
    while time.perf_counter() - begin < SECONDS:
        for _ in range(SINK):
            data.take(inputs)
            graph.replay()
        torch.cuda.current_stream().synchronize()
        steps, syncs = steps + SINK, syncs + 1
    seconds, cpu = time.perf_counter() - begin, time.thread_time() - cpu
    print(row(cell, steps, seconds, no_data, pinned, syncs, data.waited, cpu), flush=True)


def main():
    if sys.argv[1:] == ["--columns"]:
        print(COLUMNS)
        return 0
    try:
        import torch
    except ImportError as error:
        print(f"SKIP torch: {error}")
        return 77
    if not torch.cuda.is_available():
        print(f"SKIP torch: torch {torch.__version__} finds no CUDA device")
        return 77
    print(COLUMNS)
    pinned = pinned_gb_per_s(torch)
    for size in PAYLOADS:
        loader = torch.utils.data.DataLoader(
            Ready(torch, size), batch_size=None, num_workers=WORKERS, pin_memory=True
        )
        batches = iter(loader)
        for cell in CELLS:
            if cell[1] == size:
                run_cell(torch, cell, batches, pinned)
        del batches
    return 0


if __name__ == "__main__":
    sys.exit(main())
