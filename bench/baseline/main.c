// Serves rounds: each line of the input is "CASE SIDE", each line of the output
// one result. With arguments it runs that one round. Between rounds it blocks
// in a read and has no thread but this one.

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "baseline.h"

CUcontext ctx;
CUfunction fill32, add32, idle;
int quick;

// The PTX, as the assembler reads it from the file that the other sides use.
__asm__(".section .rodata\n"
	".global kernels_ptx\n"
	"kernels_ptx: .incbin \"" KERNELS "\"\n"
	".byte 0\n"
	".previous\n");
extern const char kernels_ptx[];

static const struct round *current;

void fail(const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (char *p = text; *p; p++)
		if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
			*p = '\'';
	printf("{\"case\":\"%s\",\"side\":\"%s\",\"error\":\"%s\"}\n", current ? current->name : "", current ? current->side : "", text);
	fflush(stdout);
	_Exit(1);
}

void refused(CUresult r, const char *call) {
	const char *name = NULL;
	if (cuGetErrorName)
		cuGetErrorName(r, &name);
	fail("%d %s: %s", r, name ? name : "", call);
}

double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double median(double *samples, long n) {
	qsort(samples, n, sizeof *samples, ascending);
	return samples[n / 2];
}

CUmodule load_module(void) {
	CUmodule m;
	OK(cuModuleLoadDataEx(&m, kernels_ptx, 0, NULL, NULL));
	return m;
}

void set_up(void) {
	if (ctx)
		return;
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	open_driver();
	OK(cuInit(0));
	CUdevice device;
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&ctx, device));
	OK(cuCtxSetCurrent(ctx));
	CUmodule m = load_module();
	OK(cuModuleGetFunction(&fill32, m, "fill32"));
	OK(cuModuleGetFunction(&add32, m, "add32"));
	OK(cuModuleGetFunction(&idle, m, "idle"));
}

CUstream new_stream(void) {
	CUstream s;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

CUevent new_event(void) {
	CUevent e;
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

CUdeviceptr device_memory(size_t bytes) {
	CUdeviceptr p;
	OK(cuMemAlloc(&p, bytes));
	return p;
}

void *pinned(size_t bytes) {
	static void *block;
	static size_t have;
	if (bytes > have) {
		if (block)
			OK(cuMemFreeHost(block));
		OK(cuMemHostAlloc(&block, bytes, CU_MEMHOSTALLOC_PORTABLE));
		have = bytes;
	}
	return block;
}

void check_words(CUdeviceptr p, size_t bytes, unsigned want, const char *what) {
	unsigned *words = pinned(bytes);
	CUstream s = new_stream();
	OK(cuMemcpyDtoHAsync(words, p, bytes, s));
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy(s));
	for (size_t i = 0; i < bytes / 4; i++)
		if (words[i] != want)
			fail("%s: word %zu is %u, want %u", what, i, words[i], want);
}

struct thread {
	pthread_t id;
	void (*f)(void *, int);
	void *arg;
	int i;
};

static void *start(void *p) {
	struct thread *t = p;
	OK(cuCtxSetCurrent(ctx));
	t->f(t->arg, t->i);
	return NULL;
}

void on_threads(int n, void (*f)(void *, int), void *arg) {
	struct thread t[64];
	for (int i = 0; i < n; i++) {
		t[i] = (struct thread){.f = f, .arg = arg, .i = i};
		if (pthread_create(&t[i].id, NULL, start, &t[i]))
			fail("no thread");
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i].id, NULL);
}

static const struct round *find(const char *name, const char *side) {
	const struct round *all[] = {pipelines, launches, copies};
	for (int i = 0; i < 3; i++)
		for (const struct round *r = all[i]; r->name; r++)
			if (!strcmp(r->name, name) && !strcmp(r->side, side))
				return r;
	return NULL;
}

static void serve(const char *name, const char *side) {
	const struct round *r = find(name, side);
	if (!r) {
		printf("{\"case\":\"%s\",\"side\":\"%s\",\"error\":\"no such case or side\"}\n", name, side);
		fflush(stdout);
		return;
	}
	current = r;
	struct round now = *r;
	if (quick && now.n > 200)
		now.n = now.n / 100 > 200 ? now.n / 100 : 200;
	if (quick && now.bytes > 16 << 20)
		now.bytes = 16 << 20;
	if (quick && now.bytes > 1 << 20 && now.n > 2)
		now.n = 2;
	set_up();
	double value = now.run(&now);
	OK(cuCtxSynchronize());
	printf("{\"case\":\"%s\",\"side\":\"%s\",\"unit\":\"%s\",\"value\":%.9g}\n", r->name, r->side, r->unit, value);
	fflush(stdout);
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "-quick")) {
		quick = 1;
		argc--, argv++;
	}
	if (argc == 3) {
		serve(argv[1], argv[2]);
		return 0;
	}
	char name[128], side[128];
	while (scanf("%127s %127s", name, side) == 2)
		serve(name, side);
	return 0;
}
