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

// Ordinary memory goes through pinned chunks, so that a memcpy overlaps with the copy
// of another chunk; one move after the other is there.
#define CHUNK (1 << 20)
#define STAGES 4

struct stages {
	char *memory;
	CUstream stream;
	CUevent copied[STAGES];
};

static struct stages new_stages(size_t bytes) {
	struct stages s = {.memory = pinned(bytes < STAGES * CHUNK ? STAGES * CHUNK : bytes), .stream = new_stream()};
	for (int i = 0; i < STAGES; i++)
		s.copied[i] = new_event();
	return s;
}

static void destroy_stages(struct stages *s) {
	for (int i = 0; i < STAGES; i++)
		OK(cuEventDestroy(s->copied[i]));
	OK(cuStreamDestroy(s->stream));
}

static size_t length(size_t bytes, size_t at) { return bytes - at < CHUNK ? bytes - at : CHUNK; }

static void await(CUevent e) {
	CUresult done;
	while ((done = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
		relax();
	OK(done);
}

// upload brings ordinary memory to the device: memcpy into a stage, then its copy.
static void upload(struct stages *s, CUdeviceptr p, const char *source, size_t bytes) {
	long i = 0;
	for (size_t at = 0; at < bytes; at += CHUNK, i++) {
		int j = i % STAGES;
		char *stage = s->memory + (size_t)j * CHUNK;
		size_t n = length(bytes, at);
		if (i >= STAGES)
			await(s->copied[j]);
		memcpy(stage, source + at, n);
		OK(cuMemcpyHtoDAsync(p + at, stage, n, s->stream));
		OK(cuEventRecord(s->copied[j], s->stream));
	}
	OK(cuStreamSynchronize(s->stream));
}

// download brings it back: all stages but the one that is emptied are being filled.
static void download(struct stages *s, char *to, CUdeviceptr p, size_t bytes) {
	size_t asked = 0;
	for (size_t at = 0; at < bytes; at += CHUNK) {
		for (; asked < bytes && asked < at + STAGES * CHUNK; asked += CHUNK) {
			int j = asked / CHUNK % STAGES;
			OK(cuMemcpyDtoHAsync(s->memory + (size_t)j * CHUNK, p + asked, length(bytes, asked), s->stream));
			OK(cuEventRecord(s->copied[j], s->stream));
		}
		int j = at / CHUNK % STAGES;
		await(s->copied[j]);
		memcpy(to + at, s->memory + (size_t)j * CHUNK, length(bytes, at));
	}
}

// ordinary is memory that is there, as a program's own data is.
static char *ordinary(size_t bytes) {
	static char *block;
	static size_t have;
	if (have < bytes) {
		free(block);
		block = malloc(have = bytes);
		if (!block)
			fail("no memory");
		memset(block, 1, have);
	}
	return block;
}

static double from_slice(const struct round *r) {
	char *source = ordinary(r->bytes);
	struct stages s = new_stages(r->bytes);
	CUdeviceptr p = device_memory(r->bytes);
	double t = 0;
	for (long k = -1; k < r->n; k++) {
		stamp((unsigned *)source, r->bytes / 4, k);
		double began = now();
		upload(&s, p, source, r->bytes);
		if (k >= 0)
			t += now() - began;
		memset(s.memory, 0, r->bytes);
		OK(cuMemcpyDtoHAsync(s.memory, p, r->bytes, s.stream));
		OK(cuStreamSynchronize(s.stream));
		check_stamp((unsigned *)s.memory, r->bytes / 4, k);
	}
	destroy_stages(&s);
	OK(cuMemFree(p));
	return (double)r->bytes * r->n / t;
}

static double to_memory(const struct round *r, int fresh) {
	char *host = ordinary(r->bytes);
	struct stages s = new_stages(r->bytes);
	CUdeviceptr p = device_memory(r->bytes);
	double t = 0;
	for (long k = -1; k < r->n; k++) {
		stamp((unsigned *)host, r->bytes / 4, k);
		upload(&s, p, host, r->bytes);
		stamp((unsigned *)host, r->bytes / 4, ~k); // what is there shall not pass for what comes
		double began = now();
		char *to = fresh ? malloc(r->bytes) : host;
		if (!to)
			fail("no memory");
		download(&s, to, p, r->bytes);
		if (k >= 0)
			t += now() - began;
		check_stamp((unsigned *)to, r->bytes / 4, k);
		if (fresh)
			free(to);
	}
	destroy_stages(&s);
	OK(cuMemFree(p));
	return (double)r->bytes * r->n / t;
}

static double to_slice(const struct round *r) { return to_memory(r, 0); }
static double to_new_slice(const struct round *r) { return to_memory(r, 1); }

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
	{"download-slice-64MiB", "c", "GB/s", to_slice, 8, 64 << 20},
	{"download-slice-64MiB", "c-alloc", "GB/s", to_new_slice, 8, 64 << 20},
	{"pull", "c", "ns", pull, 1600, 4 << 10},
	{0},
};
