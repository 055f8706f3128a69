//go:build cgo && linux && (amd64 || arm64)

#include "submit.h"

// The signatures of the entry points, as the driver API documents them. Handles
// and addresses are numbers here, as they are in the words of a list.
typedef int32_t launch_fn(uintptr_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, uintptr_t stream, void **params, void **extra);
typedef int32_t copy_fn(uintptr_t dst, uintptr_t src, size_t bytes, uintptr_t stream);
typedef int32_t peer_fn(uintptr_t dst, uintptr_t dst_ctx, uintptr_t src, uintptr_t src_ctx, size_t bytes, uintptr_t stream);
typedef int32_t fill8_fn(uintptr_t dst, unsigned char v, size_t n, uintptr_t stream);
typedef int32_t fill16_fn(uintptr_t dst, unsigned short v, size_t n, uintptr_t stream);
typedef int32_t fill32_fn(uintptr_t dst, unsigned v, size_t n, uintptr_t stream);
typedef int32_t record_fn(uintptr_t event, uintptr_t stream);
typedef int32_t wait_fn(uintptr_t stream, uintptr_t event, unsigned flags);
typedef int32_t free_fn(uintptr_t p, uintptr_t stream);
typedef int32_t set_fn(uintptr_t exec, uintptr_t node, const struct gpuactor_kernel_node *params);
typedef int32_t graph_fn(uintptr_t exec, uintptr_t stream);
typedef int32_t one_fn(uintptr_t arg);

// The words of a command are described in cudart/command.go.
enum { LAUNCH = 1, COPY_HTOD, COPY_DTOH, COPY_DTOD, COPY_PEER, FILL, RECORD, WAIT, FREE };
enum { LAUNCH_HEAD = 8, INVALID_VALUE = 1 };

static unsigned low(uint64_t w) { return (unsigned)w; }
static unsigned high(uint64_t w) { return (unsigned)(w >> 32); }

// launch_graph is a launch by an executable graph, 0 where that was refused.
static int launch_graph(const uintptr_t *entries, uintptr_t stream, const uint64_t *w, void **params) {
	struct gpuactor_kernel_node k = {w[1], low(w[2]), high(w[2]), low(w[3]), high(w[3]), low(w[4]), high(w[4]), low(w[5]), params, NULL};
	return !((set_fn *)entries[GPUACTOR_GRAPH_SET])(w[6], w[7], &k) && !((graph_fn *)entries[GPUACTOR_GRAPH_LAUNCH])(w[6], stream);
}

static int32_t launch(const uintptr_t *entries, uintptr_t stream, const uint64_t *w) {
	void **params = (void **)(uintptr_t)(w + LAUNCH_HEAD + high(w[0]));
	if (w[6] && launch_graph(entries, stream, w, params))
		return 0;
	return ((launch_fn *)entries[GPUACTOR_LAUNCH])(w[1], low(w[2]), high(w[2]), low(w[3]), high(w[3]), low(w[4]),
	                                               high(w[4]), low(w[5]), stream, params, NULL);
}

static int32_t fill(const uintptr_t *entries, uintptr_t stream, const uint64_t *w) {
	switch (high(w[0])) {
	case 1:
		return ((fill8_fn *)entries[GPUACTOR_FILL_8])(w[1], (unsigned char)w[2], w[3], stream);
	case 2:
		return ((fill16_fn *)entries[GPUACTOR_FILL_16])(w[1], (unsigned short)w[2], w[3], stream);
	case 4:
		return ((fill32_fn *)entries[GPUACTOR_FILL_32])(w[1], low(w[2]), w[3], stream);
	}
	return INVALID_VALUE;
}

// effect runs a command that touches a user's memory. A copy or a fill of
// nothing is no call: there may be no memory behind its addresses.
static int32_t effect(const uintptr_t *entries, uintptr_t stream, const uint64_t *w) {
	unsigned op = w[0] & 0xffff;
	if (op == LAUNCH)
		return launch(entries, stream, w);
	if (w[3] == 0)
		return 0;
	switch (op) {
	case COPY_HTOD:
		return ((copy_fn *)entries[GPUACTOR_COPY_HTOD])(w[1], w[2], w[3], stream);
	case COPY_DTOH:
		return ((copy_fn *)entries[GPUACTOR_COPY_DTOH])(w[1], w[2], w[3], stream);
	case COPY_DTOD:
		return ((copy_fn *)entries[GPUACTOR_COPY_DTOD])(w[1], w[2], w[3], stream);
	case COPY_PEER:
		return ((peer_fn *)entries[GPUACTOR_COPY_PEER])(w[1], w[4], w[2], w[5], w[3], stream);
	}
	return fill(entries, stream, w);
}

uint64_t gpuactor_submit(const uintptr_t *entries, uintptr_t stream, const uint64_t *words, size_t n) {
	const uint64_t *end = words + n;
	uint64_t refused = 0, index = 0;
	for (; words < end; words += words[0] >> 16 & 0xffff, index++) {
		int32_t code;
		switch (words[0] & 0xffff) {
		case RECORD:
			code = ((record_fn *)entries[GPUACTOR_RECORD])(words[1], stream);
			break;
		case WAIT:
			code = ((wait_fn *)entries[GPUACTOR_WAIT])(stream, words[1], 0);
			break;
		case FREE:
			code = ((free_fn *)entries[GPUACTOR_FREE])(words[1], stream);
			break;
		default:
			if (refused)
				continue; // an effect behind a refused command
			code = effect(entries, stream, words);
		}
		if (code && !refused)
			refused = index << 32 | (uint32_t)code;
	}
	return refused;
}

int32_t gpuactor_call(uintptr_t entry, uintptr_t arg) { return ((one_fn *)entry)(arg); }
