// Producer and consumer: a kernel on one stream fills a buffer, a kernel on
// another changes it, and it comes back. The buffers are a ring; each has one
// event for each direction, made once.

#include "baseline.h"

#define MAX_DEPTH 8
#define GRAPH_ITEMS 64

struct pipe {
	CUstream from, to;
	CUdeviceptr buffer[MAX_DEPTH];
	CUevent filled[MAX_DEPTH], returned[MAX_DEPTH];
	int depth;
	size_t bytes;
	long first, end; // the items of a run

	// Of the run with two threads, each on a cache line of its own.
	_Alignas(128) atomic_long produced;
	_Alignas(128) atomic_long consumed;
};

static struct pipe *make_pipe(const struct round *r) {
	static struct pipe p;
	p.depth = r->depth;
	p.bytes = r->bytes;
	p.from = new_stream();
	p.to = new_stream();
	for (int i = 0; i < p.depth; i++) {
		p.buffer[i] = device_memory(p.bytes);
		p.filled[i] = new_event();
		p.returned[i] = new_event();
	}
	return &p;
}

static void free_pipe(struct pipe *p) {
	for (int i = 0; i < p->depth; i++) {
		OK(cuMemFree(p->buffer[i]));
		OK(cuEventDestroy(p->filled[i]));
		OK(cuEventDestroy(p->returned[i]));
	}
	OK(cuStreamDestroy(p->from));
	OK(cuStreamDestroy(p->to));
}

static inline void produce(struct pipe *p, long i) {
	int k = i % p->depth;
	if (i >= p->depth)
		OK(cuStreamWaitEvent(p->from, p->returned[k], 0));
	launch(fill32, p->from, p->buffer[k], i, p->bytes / 4);
	OK(cuEventRecord(p->filled[k], p->from));
}

static inline void consume(struct pipe *p, long i) {
	int k = i % p->depth;
	OK(cuStreamWaitEvent(p->to, p->filled[k], 0));
	launch(add32, p->to, p->buffer[k], 1, p->bytes / 4);
	OK(cuEventRecord(p->returned[k], p->to));
}

static void synchronize(struct pipe *p) {
	OK(cuStreamSynchronize(p->from));
	OK(cuStreamSynchronize(p->to));
}

// check_pipe compares what the last items left, large ones by the last alone.
static void check_pipe(struct pipe *p, long items) {
	long few = p->bytes > 16 << 20 ? 1 : p->depth;
	for (long i = items > few ? items - few : 0; i < items; i++)
		check_words(p->buffer[i % p->depth], p->bytes, i + 1, "the consumer's buffer");
}

static long warm(const struct round *r) { return r->n / 10 + r->depth; }

static double one_thread(const struct round *r) {
	struct pipe *p = make_pipe(r);
	long i = 0, w = warm(r);
	for (; i < w; i++)
		produce(p, i), consume(p, i);
	synchronize(p);
	double t = now();
	for (; i < w + r->n; i++)
		produce(p, i), consume(p, i);
	synchronize(p);
	t = now() - t;
	check_pipe(p, i);
	free_pipe(p);
	return t / r->n;
}

// The hand-over between the threads is a ring with one producer and one
// consumer: since the buffers go round in order, two counters are all of it.
static void either(void *arg, int consumer) {
	struct pipe *p = arg;
	for (long i = p->first; i < p->end; i++) {
		if (consumer) {
			while (atomic_load_explicit(&p->produced, memory_order_acquire) <= i)
				relax();
			consume(p, i);
			atomic_store_explicit(&p->consumed, i + 1, memory_order_release);
		} else {
			while (i - atomic_load_explicit(&p->consumed, memory_order_acquire) >= p->depth)
				relax();
			produce(p, i);
			atomic_store_explicit(&p->produced, i + 1, memory_order_release);
		}
	}
}

static double two_threads(const struct round *r) {
	struct pipe *p = make_pipe(r);
	p->produced = p->consumed = 0;
	p->first = 0, p->end = warm(r);
	on_threads(2, either, p);
	synchronize(p);
	p->first = p->end, p->end += r->n;
	double t = now();
	on_threads(2, either, p);
	synchronize(p);
	t = now() - t;
	check_pipe(p, p->end);
	free_pipe(p);
	return t / r->n;
}

// graph replays the pipeline as one graph of 64 items, captured once.
static double graph(const struct round *r) {
	struct pipe *p = make_pipe(r);
	CUgraph g;
	CUgraphExec x;
	CUevent fork = new_event(), join = new_event();
	OK(cuStreamBeginCapture(p->from, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuEventRecord(fork, p->from));
	OK(cuStreamWaitEvent(p->to, fork, 0));
	for (long i = 0; i < GRAPH_ITEMS; i++)
		produce(p, i), consume(p, i);
	OK(cuEventRecord(join, p->to));
	OK(cuStreamWaitEvent(p->from, join, 0));
	OK(cuStreamEndCapture(p->from, &g));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	long replays = r->n / GRAPH_ITEMS;
	for (long i = 0; i < 10; i++)
		OK(cuGraphLaunch(x, p->from));
	synchronize(p);
	double t = now();
	for (long i = 0; i < replays; i++)
		OK(cuGraphLaunch(x, p->from));
	synchronize(p);
	t = now() - t;
	check_pipe(p, GRAPH_ITEMS);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuEventDestroy(fork));
	OK(cuEventDestroy(join));
	free_pipe(p);
	return t / (replays * GRAPH_ITEMS);
}

#define PIPE(name, n, bytes, depth)                                                                                        \
	{name, "c-one", "ns", one_thread, n, bytes, depth}, { name, "c-two", "ns", two_threads, n, bytes, depth }

const struct round pipelines[] = {
	PIPE("pipeline-4KiB-8", 20000, 4 << 10, 8),
	{"pipeline-4KiB-8", "c-graph", "ns", graph, 64000, 4 << 10, 8},
	PIPE("pipeline-4KiB-1", 15000, 4 << 10, 1),
	PIPE("pipeline-64KiB-8", 15000, 64 << 10, 8),
	PIPE("pipeline-1MiB-8", 10000, 1 << 20, 8),
	PIPE("pipeline-16MiB-8", 4000, 16 << 20, 8),
	PIPE("pipeline-256MiB-8", 200, 256 << 20, 8),
	{0},
};
