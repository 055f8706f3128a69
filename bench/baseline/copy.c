// Copies: by size on one stream, from ordinary memory, and between two contexts.

#include <stdlib.h>
#include <string.h>

#include "baseline.h"

// Large blocks are stamped and compared by one word of each page, and the last.
#define STEP 1024

static void stamp(unsigned *words, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i += STEP)
		words[i] = seed ^ i;
	words[n - 1] = seed ^ (n - 1);
}

static void check_stamp(const unsigned *words, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i += STEP)
		if (words[i] != (seed ^ (unsigned)i))
			fail("word %zu is %u, want %u", i, words[i], seed ^ (unsigned)i);
	if (words[n - 1] != (seed ^ (unsigned)(n - 1)))
		fail("the last word is %u, want %u", words[n - 1], seed ^ (unsigned)(n - 1));
}

enum way { UP, DOWN, ACROSS };

// bandwidth copies a block n times, and returns 10⁹ bytes a second.
static double bandwidth(const struct round *r, enum way way) {
	static unsigned seed = 0x5eed0000;
	size_t n = r->bytes / 4;
	unsigned *host = pinned(r->bytes);
	CUstream s = new_stream();
	CUdeviceptr p = device_memory(r->bytes), q = way == ACROSS ? device_memory(r->bytes) : 0;
	stamp(host, n, ++seed);
	// What is not measured: the block to the device, and what came of it back.
	OK(cuMemcpyHtoDAsync(p, host, r->bytes, s));
	OK(cuStreamSynchronize(s));
	// What was copied above shall not pass for what is copied now.
	stamp(host, n, ~seed);
	if (way == UP)
		seed = ~seed;
	double t = now();
	for (long i = 0; i < r->n; i++) {
		switch (way) {
		case UP:
			OK(cuMemcpyHtoDAsync(p, host, r->bytes, s));
			break;
		case DOWN:
			OK(cuMemcpyDtoHAsync(host, p, r->bytes, s));
			break;
		case ACROSS:
			OK(cuMemcpyDtoDAsync(q, p, r->bytes, s));
			break;
		}
	}
	OK(cuStreamSynchronize(s));
	t = now() - t;
	if (way != DOWN) {
		stamp(host, n, ~seed);
		OK(cuMemcpyDtoHAsync(host, way == UP ? p : q, r->bytes, s));
		OK(cuStreamSynchronize(s));
	}
	check_stamp(host, n, seed);
	OK(cuStreamDestroy(s));
	OK(cuMemFree(p));
	if (q)
		OK(cuMemFree(q));
	return (double)r->bytes * r->n / t;
}

static double up(const struct round *r) { return bandwidth(r, UP); }
static double down(const struct round *r) { return bandwidth(r, DOWN); }
static double across(const struct round *r) { return bandwidth(r, ACROSS); }

// from_slice uploads ordinary memory, one upload after the other is there: one
// memcpy into pinned memory, overlapped with the copy of the chunk before.
#define CHUNK (1 << 20)
#define STAGES 4

static double from_slice(const struct round *r) {
	static char *source;
	static size_t have;
	if (have < r->bytes) {
		free(source);
		source = malloc(have = r->bytes);
		if (!source)
			fail("no memory");
		memset(source, 1, have); // it is there, as a program's own data is
	}
	char *stage = pinned(r->bytes < STAGES * CHUNK ? STAGES * CHUNK : r->bytes);
	CUstream s = new_stream();
	CUevent sent[STAGES];
	for (int i = 0; i < STAGES; i++)
		sent[i] = new_event();
	CUdeviceptr p = device_memory(r->bytes);
	double t = 0;
	long rounds = r->n;
	for (long k = -1; k < rounds; k++) {
		stamp((unsigned *)source, r->bytes / 4, k);
		double began = now();
		long i = 0;
		for (size_t at = 0; at < r->bytes; at += CHUNK, i++) {
			int j = i % STAGES;
			size_t n = r->bytes - at < CHUNK ? r->bytes - at : CHUNK;
			if (i >= STAGES) {
				CUresult done;
				while ((done = cuEventQuery(sent[j])) == CUDA_ERROR_NOT_READY)
					relax();
				OK(done);
			}
			memcpy(stage + (size_t)j * CHUNK, source + at, n);
			OK(cuMemcpyHtoDAsync(p + at, stage + (size_t)j * CHUNK, n, s));
			OK(cuEventRecord(sent[j], s));
		}
		OK(cuStreamSynchronize(s));
		if (k >= 0)
			t += now() - began;
	}
	memset(stage, 0, r->bytes);
	OK(cuMemcpyDtoHAsync(stage, p, r->bytes, s));
	OK(cuStreamSynchronize(s));
	check_stamp((unsigned *)stage, r->bytes / 4, rounds - 1);
	for (int i = 0; i < STAGES; i++)
		OK(cuEventDestroy(sent[i]));
	OK(cuStreamDestroy(s));
	OK(cuMemFree(p));
	return (double)r->bytes * rounds / t;
}

// pull brings buffers to another context, by its three edges: the source's last
// write before the copy, the destination's last use before it, the copy before the
// destination's first use. It is the CPU's time. The copy is issued on a stream of
// the source, which is cheaper. Two contexts on one GPU stand in for two GPUs.
#define BATCH 32

static double pull(const struct round *r) {
	static CUcontext from, to;
	static CUfunction fill;
	static CUdeviceptr src[BATCH], dst[BATCH];
	static CUevent filled[BATCH], used[BATCH], copied[BATCH];
	static CUstream writer, carrier, reader;
	if (!from) {
		CUdevice d;
		OK(cuDeviceGet(&d, 0));
		OK(cuCtxCreate(&to, 0, d));
		reader = new_stream();
		for (int i = 0; i < BATCH; i++) {
			dst[i] = device_memory(r->bytes);
			used[i] = new_event();
		}
		OK(cuCtxCreate(&from, 0, d));
		OK(cuModuleGetFunction(&fill, load_module(), "fill32"));
		writer = new_stream();
		carrier = new_stream();
		for (int i = 0; i < BATCH; i++) {
			src[i] = device_memory(r->bytes);
			filled[i] = new_event();
			copied[i] = new_event();
		}
	}
	double took = 0;
	long batches = r->n / BATCH;
	for (long k = -1; k < batches; k++) {
		OK(cuCtxSetCurrent(from));
		for (int i = 0; i < BATCH; i++) {
			launch(fill, writer, src[i], k + i, r->bytes / 4);
			OK(cuEventRecord(filled[i], writer));
		}
		OK(cuCtxSetCurrent(to));
		double t = now();
		for (int i = 0; i < BATCH; i++) {
			OK(cuEventRecord(used[i], reader));
			OK(cuCtxSetCurrent(from));
			OK(cuStreamWaitEvent(carrier, filled[i], 0));
			OK(cuStreamWaitEvent(carrier, used[i], 0));
			OK(cuMemcpyPeerAsync(dst[i], to, src[i], from, r->bytes, carrier));
			OK(cuEventRecord(copied[i], carrier));
			OK(cuCtxSetCurrent(to));
			OK(cuStreamWaitEvent(reader, copied[i], 0));
		}
		t = now() - t;
		OK(cuStreamSynchronize(reader));
		if (k >= 0)
			took += t;
	}
	for (int i = 0; i < BATCH; i++)
		check_words(dst[i], r->bytes, batches - 1 + i, "the reader's buffer");
	OK(cuCtxSetCurrent(ctx));
	return took / (batches * BATCH);
}

#define COPIES(size, bytes, n, local)                                                                                      \
	{"upload-" size, "c", "GB/s", up, n, bytes}, {"download-" size, "c", "GB/s", down, n, bytes}, {                    \
		"d2d-" size, "c", "GB/s", across, local, bytes                                                             \
	}

const struct round copies[] = {
	COPIES("4KiB", 4 << 10, 10000, 10000),
	COPIES("64KiB", 64 << 10, 10000, 10000),
	COPIES("1MiB", 1 << 20, 2000, 10000),
	COPIES("16MiB", 16 << 20, 128, 2000),
	COPIES("256MiB", 256 << 20, 8, 128),
	COPIES("1GiB", 1 << 30, 3, 32),
	{"upload-slice-64MiB", "c", "GB/s", from_slice, 8, 64 << 20},
	{"pull", "c", "ns", pull, 1600, 4 << 10},
	{0},
};
