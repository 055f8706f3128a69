"""The same pipeline in PyTorch, as its users write it: streams and events.

Serves rounds as the other sides do: a line "CASE SIDE" of the input is a round,
and a line of JSON its result. With two arguments it runs that one round.
"""

import json
import queue
import sys
import threading
import time

QUICK = False
KIB = 1024


def pipeline(torch, size, items, depth, threads=False):
    """Nanoseconds for each item: filled on one stream, changed on another."""
    if QUICK:
        items = max(items // 100, 20)
    produce, consume = torch.cuda.Stream(), torch.cuda.Stream()
    buffers = [torch.empty(size // 4, dtype=torch.int32, device="cuda") for _ in range(depth)]
    filled = [torch.cuda.Event() for _ in range(depth)]
    returned = [torch.cuda.Event() for _ in range(depth)]

    def fill(i):
        k = i % depth
        with torch.cuda.stream(produce):
            if i >= depth:
                produce.wait_event(returned[k])
            buffers[k].fill_(i)
            filled[k].record(produce)

    def change(i):
        k = i % depth
        with torch.cuda.stream(consume):
            consume.wait_event(filled[k])
            buffers[k].add_(1)
            returned[k].record(consume)

    def one_thread(first, end):
        for i in range(first, end):
            fill(i)
            change(i)

    def two_threads(first, end):
        there, back = queue.SimpleQueue(), queue.SimpleQueue()

        def producer():
            for i in range(first, end):
                if i - first >= depth:
                    back.get()
                fill(i)
                there.put(i)

        t = threading.Thread(target=producer)
        t.start()
        for _ in range(first, end):
            change(there.get())
            back.put(None)
        t.join()

    def run(first, end):
        (two_threads if threads else one_thread)(first, end)
        torch.cuda.synchronize()

    warm = items // 10 + depth
    run(0, warm)
    began = time.perf_counter()
    run(warm, warm + items)
    took = time.perf_counter() - began
    for i in range(warm + items - depth, warm + items):
        if not bool((buffers[i % depth] == i + 1).all()):
            raise RuntimeError(f"item {i} is wrong")
    return took * 1e9 / items


ROUNDS = {
    ("pipeline-4KiB-8", "torch"): lambda torch: pipeline(torch, 4 * KIB, 4000, 8),
    ("pipeline-4KiB-8", "torch-threads"): lambda torch: pipeline(torch, 4 * KIB, 3000, 8, threads=True),
}


def serve(case, side):
    result = {"case": case, "side": side}
    try:
        if (case, side) not in ROUNDS:
            raise KeyError("no such case or side")
        import torch

        result.update(unit="ns", value=ROUNDS[case, side](torch))
    except Exception as e:  # whatever it is, it is this round's result
        result["error"] = f"{type(e).__name__}: {e}"
    print(json.dumps(result), flush=True)


def main(args):
    global QUICK
    if args[:1] == ["-quick"]:
        QUICK = True
        args = args[1:]
    if len(args) == 2:
        serve(*args)
        return
    for line in sys.stdin:
        serve(*line.split())


main(sys.argv[1:])
