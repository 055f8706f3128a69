// A driver that does what it is told at once, on the host: enough of one to run the
// baseline without a GPU, and to see that it notices a kernel or a copy that did
// not happen. -DNO_ADD leaves out the one kernel, -DNO_COPY all copies but those to
// the host, and -DNO_DOWNLOAD those.

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int R;
typedef uint64_t ptr;

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

R cuInit(unsigned f) { return f; }
R cuGetErrorName(R r, const char **s) { return *s = r ? "REFUSED" : "", 0; }
R cuDeviceGet(int *d, int i) { return *d = i, 0; }
R cuDevicePrimaryCtxRetain(void **c, int d) { return *c = (void *)(uintptr_t)(d + 1), 0; }
R cuCtxCreate(void **c, unsigned f, int d) { return *c = malloc(8), f + d; }
R cuCtxSetCurrent(void *c) { return c ? 0 : 201; }
R cuCtxSynchronize(void) { return 0; }
R cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *o, void **v) {
	(void)n, (void)o, (void)v;
	return *m = (void *)image, 0;
}
R cuModuleGetFunction(void **f, void *m, const char *name) { return strstr(m, name) ? (*f = strdup(name), 0) : 500; }
R cuStreamCreate(void **s, unsigned f) { return f == 1 ? (*s = malloc(8), 0) : 1; }
R cuStreamDestroy(void *s) { return free(s), 0; }
R cuStreamSynchronize(void *s) { return s ? 0 : 400; }
R cuStreamWaitEvent(void *s, void *e, unsigned f) { return s && e ? (int)f : 400; }
R cuStreamBeginCapture(void *s, int mode) { return s && mode == 1 ? 0 : 1; }
R cuStreamEndCapture(void *s, void **g) { return *g = s, 0; }
R cuEventCreate(void **e, unsigned f) { return f == 2 ? (*e = malloc(8), 0) : 1; }
R cuEventDestroy(void *e) { return free(e), 0; }
R cuEventRecord(void *e, void *s) { return s && e ? 0 : 400; }
R cuEventQuery(void *e) { return e ? 0 : 400; }
R cuGraphInstantiateWithFlags(void **x, void *g, unsigned long long f) { return *x = g, (int)f; }
R cuGraphLaunch(void *x, void *s) { return x && s ? 0 : 400; }
R cuGraphExecDestroy(void *x) { return x ? 0 : 400; }
R cuGraphDestroy(void *g) { return g ? 0 : 400; }
R cuMemAlloc(ptr *p, size_t n) { return *p = (uintptr_t)malloc(n), 0; }
R cuMemFree(ptr p) { return free((void *)p), 0; }
R cuMemAllocAsync(ptr *p, size_t n, void *s) { return s ? cuMemAlloc(p, n) : 400; }
R cuMemFreeAsync(ptr p, void *s) { return s ? cuMemFree(p) : 400; }
R cuMemHostAlloc(void **p, size_t n, unsigned f) { return f == 1 ? (*p = malloc(n), 0) : 1; }
R cuMemFreeHost(void *p) { return free(p), 0; }

static R copy(void *dst, const void *src, size_t n) {
#ifndef NO_COPY
	pthread_mutex_lock(&one);
	memcpy(dst, src, n);
	pthread_mutex_unlock(&one);
#else
	(void)dst, (void)src, (void)n;
#endif
	return 0;
}
R cuMemcpyHtoDAsync(ptr d, const void *h, size_t n, void *s) { return s ? copy((void *)d, h, n) : 400; }
R cuMemcpyDtoHAsync(void *h, ptr d, size_t n, void *s) {
#ifndef NO_DOWNLOAD
	pthread_mutex_lock(&one);
	memcpy(h, (void *)d, n);
	pthread_mutex_unlock(&one);
#else
	(void)h, (void)d, (void)n;
#endif
	return s ? 0 : 400;
}
R cuMemcpyDtoDAsync(ptr d, ptr p, size_t n, void *s) { return s ? copy((void *)d, (void *)p, n) : 400; }
R cuMemcpyPeerAsync(ptr d, void *dc, ptr p, void *pc, size_t n, void *s) { return s && dc && pc ? copy((void *)d, (void *)p, n) : 400; }
R cuMemsetD32Async(ptr d, unsigned v, size_t n, void *s) {
	for (size_t i = 0; i < n; i++)
		((unsigned *)d)[i] = v;
	return s ? 0 : 400;
}

R cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s,
		 void **args, void **extra) {
	if (!s || gy * gz * by * bz != 1 || shared || extra)
		return 1;
	if (!strcmp(f, "idle"))
		return 0;
	unsigned *p = *(void **)args[0], v = *(unsigned *)args[1], n = *(unsigned *)args[2];
	pthread_mutex_lock(&one);
	for (unsigned i = 0; i < n && i < gx * bx; i++) {
		if (!strcmp(f, "fill32"))
			p[i] = v;
#ifndef NO_ADD
		else
			p[i] += v;
#endif
	}
	pthread_mutex_unlock(&one);
	return 0;
}

#define TELL(f)                                                                                                            \
	if (!strcmp(name, #f))                                                                                             \
	return *p = (void *)f, 0
R cuGetProcAddress(const char *name, void **p, int version, uint64_t flags) {
	(void)version, (void)flags;
	TELL(cuInit);
	TELL(cuGetErrorName);
	TELL(cuDeviceGet);
	TELL(cuDevicePrimaryCtxRetain);
	TELL(cuCtxCreate);
	TELL(cuCtxSetCurrent);
	TELL(cuCtxSynchronize);
	TELL(cuModuleLoadDataEx);
	TELL(cuModuleGetFunction);
	TELL(cuStreamCreate);
	TELL(cuStreamDestroy);
	TELL(cuStreamSynchronize);
	TELL(cuStreamWaitEvent);
	TELL(cuStreamBeginCapture);
	TELL(cuStreamEndCapture);
	TELL(cuEventCreate);
	TELL(cuEventDestroy);
	TELL(cuEventRecord);
	TELL(cuEventQuery);
	TELL(cuGraphInstantiateWithFlags);
	TELL(cuGraphLaunch);
	TELL(cuGraphExecDestroy);
	TELL(cuGraphDestroy);
	TELL(cuMemAlloc);
	TELL(cuMemFree);
	TELL(cuMemAllocAsync);
	TELL(cuMemFreeAsync);
	TELL(cuMemHostAlloc);
	TELL(cuMemFreeHost);
	TELL(cuMemcpyHtoDAsync);
	TELL(cuMemcpyDtoHAsync);
	TELL(cuMemcpyDtoDAsync);
	TELL(cuMemcpyPeerAsync);
	TELL(cuMemsetD32Async);
	TELL(cuLaunchKernel);
	return 500;
}
