// The opponent: what a CUDA engineer writes who manages streams and events by
// hand. Nothing in a measured loop allocates, looks up or formats anything.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "driver.h"

// A round of a case: it returns the value, in the case's unit.
struct round {
	const char *name, *side, *unit;
	double (*run)(const struct round *);
	long n;       // how many items, launches or copies
	size_t bytes; // of an item
	int depth;    // buffers, or threads
};

extern const struct round pipelines[], launches[], copies[]; // each ends with a zero name

// The device, and the kernels, the same PTX as the other sides load.
extern CUcontext ctx;
extern CUfunction fill32, add32, idle;
void set_up(void);
CUmodule load_module(void); // in the current context

extern int quick; // few items: does it work, not how fast

// fail says why the round has no result, and ends the program.
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

#define OK(call)                                                                                                           \
	do {                                                                                                               \
		CUresult r_ = (call);                                                                                      \
		if (__builtin_expect(r_ != 0, 0))                                                                          \
			refused(r_, #call);                                                                                \
	} while (0)
__attribute__((noreturn)) void refused(CUresult r, const char *call);

double now(void); // ns
static inline void relax(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

double median(double *samples, long n); // sorts them

static inline void launch(CUfunction f, CUstream s, CUdeviceptr p, unsigned value, unsigned n) {
	void *args[] = {&p, &value, &n};
	OK(cuLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, s, args, NULL));
}

CUstream new_stream(void);
CUevent new_event(void);
CUdeviceptr device_memory(size_t bytes);
void *pinned(size_t bytes); // one block, which grows and stays

// check_words downloads words and compares each with want.
void check_words(CUdeviceptr p, size_t bytes, unsigned want, const char *what);

// on_threads runs f(arg, i) on n threads with the context current, and joins them.
void on_threads(int n, void (*f)(void *, int), void *arg);
