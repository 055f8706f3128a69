// The way of a command list into the driver, in C: one crossing for all of it.

#ifndef GPUACTOR_SUBMIT_H
#define GPUACTOR_SUBMIT_H

#include <stddef.h>
#include <stdint.h>

// Where the entry points of the commands are in the table of addresses. entry.go
// numbers them alike, and submit_cgo.go does not compile where it does not.
enum {
	GPUACTOR_LAUNCH,
	GPUACTOR_COPY_HTOD,
	GPUACTOR_COPY_DTOH,
	GPUACTOR_COPY_DTOD,
	GPUACTOR_COPY_PEER,
	GPUACTOR_FILL_8,
	GPUACTOR_FILL_16,
	GPUACTOR_FILL_32,
	GPUACTOR_RECORD,
	GPUACTOR_WAIT,
	GPUACTOR_FREE,
	GPUACTOR_GRAPH_SET,
	GPUACTOR_GRAPH_LAUNCH,
};

// gpuactor_kernel_node is what a kernel node of a graph launches, as the driver API
// had it before CUDA 12.0.
struct gpuactor_kernel_node {
	uintptr_t f;
	unsigned gx, gy, gz, bx, by, bz;
	unsigned shared;
	void **params;
	void **extra;
};

// gpuactor_submit runs the commands of n words on a stream. The result is the
// code of the first refused command in the lower half and its index in the upper
// one, or 0 where none was refused.
uint64_t gpuactor_submit(const uintptr_t *entries, uintptr_t stream, const uint64_t *words, size_t n);

// gpuactor_call calls an entry point of one parameter.
int32_t gpuactor_call(uintptr_t entry, uintptr_t arg);

#endif
