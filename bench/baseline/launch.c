// What single calls cost, launches by several threads, and knowing of the end.

#include <stdlib.h>

#include "baseline.h"

#define ITEM 4096

static double empty(const struct round *r) {
	CUstream s = new_stream();
	double t = 0;
	for (long i = -r->n / 10; i < r->n; i++) {
		if (i == 0) {
			OK(cuStreamSynchronize(s));
			t = now();
		}
		OK(cuLaunchKernel(idle, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
	}
	OK(cuStreamSynchronize(s));
	t = now() - t;
	OK(cuStreamDestroy(s));
	return t / r->n;
}

static double records(const struct round *r) {
	CUstream s = new_stream();
	CUevent e = new_event();
	double t = now();
	for (long i = 0; i < r->n; i++)
		OK(cuEventRecord(e, s));
	t = now() - t;
	OK(cuStreamDestroy(s));
	OK(cuEventDestroy(e));
	return t / r->n;
}

static double waits(const struct round *r) {
	CUstream s = new_stream(), other = new_stream();
	CUevent e = new_event();
	OK(cuEventRecord(e, other));
	double t = now();
	for (long i = 0; i < r->n; i++)
		OK(cuStreamWaitEvent(s, e, 0));
	t = now() - t;
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(other));
	OK(cuEventDestroy(e));
	return t / r->n;
}

// Launches by several threads, each with streams of its own, each launch adding
// one to a buffer of the stream.
struct crowd {
	int threads, streams; // streams of each thread
	long n;               // launches of each thread
	CUstream *stream;
	CUdeviceptr *buffer;
	pthread_barrier_t ready;
	double began[64], ended[64];
};

static void launcher(void *arg, int k) {
	struct crowd *c = arg;
	CUstream *s = c->stream + (long)k * c->streams;
	CUdeviceptr *b = c->buffer + (long)k * c->streams;
	pthread_barrier_wait(&c->ready);
	c->began[k] = now();
	int j = 0;
	for (long i = 0; i < c->n; i++) {
		launch(add32, s[j], b[j], 1, ITEM / 4);
		if (++j == c->streams)
			j = 0;
	}
	for (j = 0; j < c->streams; j++)
		OK(cuStreamSynchronize(s[j]));
	c->ended[k] = now();
}

static double crowd(int threads, int streams, long n) {
	int all = threads * streams;
	struct crowd c = {threads, streams, n / threads / streams * streams, calloc(all, sizeof(CUstream)), calloc(all, sizeof(CUdeviceptr))};
	pthread_barrier_init(&c.ready, NULL, threads);
	for (int i = 0; i < all; i++) {
		c.stream[i] = new_stream();
		c.buffer[i] = device_memory(ITEM);
		OK(cuMemsetD32Async(c.buffer[i], 0, ITEM / 4, c.stream[i]));
	}
	OK(cuCtxSynchronize());
	on_threads(threads, launcher, &c);
	double began = c.began[0], ended = c.ended[0];
	for (int i = 1; i < threads; i++) {
		began = c.began[i] < began ? c.began[i] : began;
		ended = c.ended[i] > ended ? c.ended[i] : ended;
	}
	for (int i = 0; i < all; i += streams)
		check_words(c.buffer[i], ITEM, c.n / streams, "a launcher's buffer");
	for (int i = 0; i < all; i++) {
		OK(cuStreamDestroy(c.stream[i]));
		OK(cuMemFree(c.buffer[i]));
	}
	pthread_barrier_destroy(&c.ready);
	free(c.stream);
	free(c.buffer);
	return (double)c.n * threads / (ended - began) * 1e3;
}

static double by_threads(const struct round *r) { return crowd(r->depth, 1, r->n); }
static double thousand(const struct round *r) { return crowd(4, 250, quick ? 2000 : r->n); }

// Latencies: one launch at a time on an idle stream.
enum how { CALL, POLL, SYNCHRONIZE };

static double one_at_a_time(const struct round *r, enum how how) {
	CUstream s = new_stream();
	CUevent e = new_event();
	CUdeviceptr b = device_memory(ITEM);
	OK(cuMemsetD32Async(b, 0, ITEM / 4, s));
	OK(cuStreamSynchronize(s));
	double *took = malloc(r->n * sizeof *took);
	for (long i = 0; i < r->n; i++) {
		double t = now();
		launch(add32, s, b, 1, ITEM / 4);
		if (how == CALL)
			took[i] = now() - t;
		if (how == SYNCHRONIZE) {
			OK(cuStreamSynchronize(s));
		} else {
			OK(cuEventRecord(e, s));
			CUresult done;
			while ((done = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
				;
			OK(done);
		}
		if (how != CALL)
			took[i] = now() - t;
	}
	check_words(b, ITEM, r->n, "the launches' buffer");
	double m = median(took, r->n);
	free(took);
	OK(cuMemFree(b));
	OK(cuStreamDestroy(s));
	OK(cuEventDestroy(e));
	return m;
}

static double call_alone(const struct round *r) { return one_at_a_time(r, CALL); }
static double poll(const struct round *r) { return one_at_a_time(r, POLL); }
static double wait_stream(const struct round *r) { return one_at_a_time(r, SYNCHRONIZE); }

static double alloc(const struct round *r) {
	CUstream s = new_stream();
	double t = 0;
	for (long i = -r->n / 10; i < r->n; i++) {
		if (i == 0)
			t = now();
		CUdeviceptr p;
		OK(cuMemAllocAsync(&p, ITEM, s));
		OK(cuMemFreeAsync(p, s));
	}
	t = now() - t;
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
	return t / r->n;
}

const struct round launches[] = {
	{"launch-empty", "c", "ns", empty, 20000},
	{"record", "c", "ns", records, 100000},
	{"wait", "c", "ns", waits, 100000},
	{"launches-1", "c", "M/s", by_threads, 20000, ITEM, 1},
	{"launches-2", "c", "M/s", by_threads, 30000, ITEM, 2},
	{"launches-4", "c", "M/s", by_threads, 40000, ITEM, 4},
	{"launches-8", "c", "M/s", by_threads, 60000, ITEM, 8},
	{"launches-16", "c", "M/s", by_threads, 60000, ITEM, 16},
	{"thousand", "c", "M/s", thousand, 40000, ITEM, 4},
	{"thousand", "c-4", "M/s", by_threads, 40000, ITEM, 4},
	{"known", "c-poll", "ns", poll, 3000},
	{"known", "c-sync", "ns", wait_stream, 3000},
	{"message-hot", "c-launch", "ns", call_alone, 3000},
	{"alloc", "c", "ns", alloc, 20000},
	{0},
};
