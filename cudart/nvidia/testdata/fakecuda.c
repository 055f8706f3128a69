// A driver library that does nothing but keep a record: the tests build it in
// several kinds and open it in place of the real one. It answers as the driver
// API documents, has the entry points' older and newer signatures under their
// own versions, and refuses what it is told to refuse.
//
// Kinds: -DDEVICES=n, -DINIT=code, -DDRIVER=version, -DNO_PROC_ADDRESS,
// -DOLD_PROC_ADDRESS (the one of CUDA 11.3), -DLACKS=\"cuEntryPoint\".

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef INIT
#define INIT 0
#endif
#ifndef DRIVER
#define DRIVER 13000
#endif
#ifndef LACKS
#define LACKS ""
#endif

typedef int32_t result;
typedef uint64_t u64;

// The record: what was called, with what.
struct call {
	char name[32];
	u64 args[20];
	u64 n;
};
static struct call calls[4096];
static u64 count;

// The plan: the nth next call of a name is refused.
static struct plan {
	char name[32];
	u64 nth;
	result code;
} plans[8];

u64 fake_count(void) { return count; }
struct call *fake_call(u64 i) { return &calls[i]; }
void fake_reset(void) {
	count = 0;
	memset(plans, 0, sizeof plans);
}
void fake_refuse(const char *name, u64 nth, result code) {
	struct plan *p = plans;
	while (p->nth)
		p++;
	strncpy(p->name, name, sizeof p->name - 1);
	p->nth = nth;
	p->code = code;
}

static result record(const char *name, const u64 *args, u64 n) {
	struct call *c = &calls[count++ % 4096];
	strncpy(c->name, name, sizeof c->name - 1);
	c->name[sizeof c->name - 1] = 0;
	memcpy(c->args, args, n * sizeof *args);
	c->n = n;
	result r = 0;
	for (struct plan *p = plans; p < plans + 8; p++)
		if (p->nth && !strcmp(p->name, name) && --p->nth == 0)
			r = p->code;
	return r;
}
#define U(x) ((u64)(uintptr_t)(x))
#define CALL(...) record(__func__, (u64[]){__VA_ARGS__}, sizeof((u64[]){__VA_ARGS__}) / 8)
#define GIVE(out, value, ...)                                                                                              \
	do {                                                                                                               \
		result r_ = CALL(__VA_ARGS__);                                                                             \
		if (!r_)                                                                                                   \
			*(out) = (value);                                                                                  \
		return r_;                                                                                                 \
	} while (0)

static u64 next = 0x1000;
static void *handle(void) { return (void *)(uintptr_t)(next += 16); }

static __thread void *stack[8];
static __thread int depth;
static char connections[16];
const char *fake_connections(void) { return connections; }

result cuInit(unsigned flags) {
	const char *v = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	strncpy(connections, v ? v : "", sizeof connections - 1);
	return flags ? 1 : INIT;
}
result cuDriverGetVersion(int *v) { return *v = DRIVER, 0; }
result cuGetErrorName(result code, const char **s) {
	return code == 4242 ? (*s = NULL, 1) : (*s = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE", 0);
}
result cuGetErrorString(result code, const char **s) {
	return code == 4242 ? (*s = NULL, 1) : (*s = code == 2 ? "out of memory" : "a fake refusal", 0);
}
result cuDeviceGetCount(int *n) { return *n = DEVICES, 0; }

static result cuDeviceGet(int *dev, int ordinal) { return ordinal < 0 || ordinal >= DEVICES ? 101 : (*dev = ordinal, 0); }
static result cuDeviceGetName(char *s, int n, int dev) { return strncpy(s, dev ? "Fake 1" : "Fake 0", n), 0; }
static result cuDeviceGetUuid(unsigned char *u, int dev) { return memset(u, 0xa0 + dev, 16), 0; }
static result cuDeviceTotalMem(size_t *n, int dev) { return *n = (5ull << 32) + dev, 0; }
static result cuDeviceGetAttribute(int *v, int attr, int dev) { return *v = 1000 + attr, 0; }
static result cuDeviceCanAccessPeer(int *can, int a, int b) { return *can = a == 0, 0; }

static result cuDevicePrimaryCtxRetain(void **c, int dev) { GIVE(c, (void *)(uintptr_t)(0xc000 + dev), U(dev)); }
static result cuDevicePrimaryCtxRelease(int dev) { return CALL(U(dev)); }
static result cuCtxCreate(void **c, unsigned flags, int dev) {
	result r = CALL(flags, U(dev));
	if (!r)
		*c = stack[++depth] = handle();
	return r;
}
static result cuCtxDestroy(void *c) { return CALL(U(c)); }
static result cuCtxPopCurrent(void **c) {
	result r = CALL(0);
	if (!r)
		*c = stack[depth], stack[depth--] = NULL;
	return r;
}
static result cuCtxSetCurrent(void *c) { return stack[depth] = c, CALL(U(c)); }
static result cuCtxGetCurrent(void **c) { return *c = stack[depth], 0; }
static result cuCtxGetDevice(int *dev) { GIVE(dev, 1, 0); }
static result cuCtxSynchronize(void) { return CALL(0); }
static result cuCtxEnablePeerAccess(void *peer, unsigned flags) { return CALL(U(peer), flags); }

static result cuStreamCreate(void **s, unsigned flags) { GIVE(s, handle(), flags); }
static result cuStreamDestroy(void *s) { return CALL(U(s)); }
static result cuStreamSynchronize(void *s) { return CALL(U(s)); }
static result cuStreamWaitEvent(void *s, void *e, unsigned flags) { return CALL(U(s), U(e), flags); }
static result cuEventCreate(void **e, unsigned flags) { GIVE(e, handle(), flags); }
static result cuEventDestroy(void *e) { return CALL(U(e)); }
static result cuEventQuery(void *e) { return CALL(U(e)); }
static result cuEventRecord(void *e, void *s) { return CALL(U(e), U(s)); }
static result cuEventElapsedTime(float *ms, void *a, void *b) { GIVE(ms, 1.5f, U(a), U(b)); }

struct location { int kind, id; };
struct props {
	int allocation, handles;
	struct location location;
	void *security;
	size_t max;
	unsigned char rest[56];
};
_Static_assert(sizeof(struct props) == 88, "the driver reads 88 bytes");
struct access {
	struct location location;
	int flags;
};
static u64 rest(const struct props *p) {
	u64 sum = 0;
	for (int i = 0; i < 56; i++)
		sum |= p->rest[i];
	return sum;
}
static result cuMemPoolCreate(void **pool, const struct props *p) {
	GIVE(pool, handle(), U(p->allocation), U(p->handles), U(p->location.kind), U(p->location.id), U(p->security), p->max, rest(p));
}
static result cuMemPoolDestroy(void *pool) { return CALL(U(pool)); }
static result cuMemPoolSetAttribute(void *pool, int attr, void *v) {
	return CALL(U(pool), U(attr), attr == 4 ? *(u64 *)v : (u64) * (unsigned *)v);
}
static result cuMemPoolSetAccess(void *pool, const struct access *a, size_t n) {
	return CALL(U(pool), U(a->location.kind), U(a->location.id), U(a->flags), n);
}
static result cuMemPoolTrimTo(void *pool, size_t n) { return CALL(U(pool), n); }
static result cuMemAllocFromPoolAsync(u64 *p, size_t n, void *pool, void *s) { GIVE(p, 0xd0000000, n, U(pool), U(s)); }
static result cuMemFreeAsync(u64 p, void *s) { return CALL(p, U(s)); }
static result cuMemGetInfo(size_t *free, size_t *total) { return *free = 7ull << 32, *total = 8ull << 32, CALL(0); }
static result cuMemHostAlloc(void **p, size_t n, unsigned flags) { GIVE(p, malloc(n), n, flags); }
static result cuMemFreeHost(void *p) { return free(p), CALL(U(p)); }
static result cuMemcpyHtoDAsync(u64 d, const void *h, size_t n, void *s) { return CALL(d, U(h), n, U(s)); }
static result cuMemcpyDtoHAsync(void *h, u64 d, size_t n, void *s) { return CALL(U(h), d, n, U(s)); }
static result cuMemcpyDtoDAsync(u64 d, u64 p, size_t n, void *s) { return CALL(d, p, n, U(s)); }
static result cuMemcpyPeerAsync(u64 d, void *dc, u64 p, void *pc, size_t n, void *s) { return CALL(d, U(dc), p, U(pc), n, U(s)); }
static result cuMemsetD8Async(u64 d, unsigned char v, size_t n, void *s) { return CALL(d, v, n, U(s)); }
static result cuMemsetD16Async(u64 d, unsigned short v, size_t n, void *s) { return CALL(d, v, n, U(s)); }
static result cuMemsetD32Async(u64 d, unsigned v, size_t n, void *s) { return CALL(d, v, n, U(s)); }

// A module is known by the first letter behind its text's first "//": x does not
// compile. A function's handle says in its lower three bits how many parameters
// it has, because the driver knows that too: the digit that ends its name.
static result cuModuleLoadDataEx(void **m, const char *text, unsigned n, const int *options, void **values) {
	if (strncmp(text, "//x", 3) == 0) {
		for (unsigned i = 0; i + 1 < n; i++)
			if (options[i] == 5 && options[i + 1] == 6 && (size_t)values[i + 1] >= 64)
				strcpy(values[i], "ptxas application ptx input, line 3; fatal : no\n");
		return 218;
	}
	GIVE(m, handle(), strlen(text));
}
static result cuModuleUnload(void *m) { return CALL(U(m)); }
static result cuModuleGetFunction(void **f, void *m, const char *name) {
	if (strstr(name, "missing"))
		return 500;
	char digit = name[strlen(name) - 1];
	GIVE(f, (char *)handle() + (digit >= '0' && digit <= '7' ? digit - '0' : 0), U(m), U((unsigned char)name[0]));
}
static result cuFuncGetAttribute(int *v, int attr, void *f) { GIVE(v, 768, U(attr), U(f)); }
static result cuFuncLoad(void *f) { return CALL(U(f)); }
static result cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, void *s, void **params, void **extra) {
	u64 a[20] = {U(f), gx, gy, gz, bx, by, bz, shared, U(s), U(extra)};
	u64 n = U(f) & 7;
	for (u64 i = 0; i < n; i++)
		a[10 + i] = *(u64 *)params[i];
	return record(__func__, a, 10 + n);
}

// A graph is one kernel node, which has the graph's handle too.
struct node {
	void *f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
};
static u64 described(u64 *a, u64 n, const struct node *k) {
	a[n++] = U(k->f), a[n++] = k->gx, a[n++] = k->gy, a[n++] = k->gz, a[n++] = k->bx, a[n++] = k->by, a[n++] = k->bz;
	a[n++] = k->shared, a[n++] = U(k->extra);
	for (u64 i = 0, all = U(k->f) & 7; i < all; i++)
		a[n++] = *(u64 *)k->params[i];
	return n;
}
static result cuGraphCreate(void **g, unsigned flags) { GIVE(g, handle(), flags); }
static result cuGraphAddKernelNode(void **node, void *g, void *deps, size_t n, const struct node *k) {
	u64 a[20] = {U(g), U(deps), n};
	result r = record(__func__, a, described(a, 3, k));
	if (!r)
		*node = (char *)g + 1;
	return r;
}
static result cuGraphInstantiateWithFlags(void **x, void *g, u64 flags) { GIVE(x, (char *)g + 2, U(g), flags); }
static result cuGraphExecDestroy(void *x) { return CALL(U(x)); }
static result cuGraphDestroy(void *g) { return CALL(U(g)); }
static result cuGraphExecKernelNodeSetParams(void *x, void *node, const struct node *k) {
	u64 a[20] = {U(x), U(node)};
	return record(__func__, a, described(a, 2, k));
}
static result cuGraphLaunch(void *x, void *s) { return CALL(U(x), U(s)); }

// What a name means at other versions than the one meant: another signature.
static result other(void) { return 777; }

static const struct {
	const char *name;
	int version;
	void *p;
} exports[] = {
#define E(name, version) {#name, version, name}
#define OTHER(name, version) {name, version, other}
	E(cuInit, 2000), E(cuDriverGetVersion, 2020), E(cuGetErrorName, 6000), E(cuGetErrorString, 6000),
	E(cuDeviceGet, 2000), E(cuDeviceGetCount, 2000), E(cuDeviceGetName, 2000),
	OTHER("cuDeviceGetUuid", 9020), E(cuDeviceGetUuid, 11040), OTHER("cuDeviceTotalMem", 2000), E(cuDeviceTotalMem, 3020),
	E(cuDeviceGetAttribute, 2000), E(cuDeviceCanAccessPeer, 4000), E(cuDevicePrimaryCtxRetain, 7000),
	OTHER("cuDevicePrimaryCtxRelease", 7000), E(cuDevicePrimaryCtxRelease, 11000),
	OTHER("cuCtxCreate", 2000), E(cuCtxCreate, 3020), OTHER("cuCtxCreate", 11040), OTHER("cuCtxCreate", 13000),
	OTHER("cuCtxDestroy", 2000), E(cuCtxDestroy, 4000), OTHER("cuCtxPopCurrent", 2000), E(cuCtxPopCurrent, 4000),
	E(cuCtxSetCurrent, 4000), E(cuCtxGetCurrent, 4000), E(cuCtxGetDevice, 2000), OTHER("cuCtxGetDevice", 13000),
	E(cuCtxSynchronize, 2000), OTHER("cuCtxSynchronize", 13000), E(cuCtxEnablePeerAccess, 4000),
	E(cuStreamCreate, 2000), OTHER("cuStreamDestroy", 2000), E(cuStreamDestroy, 4000), E(cuStreamSynchronize, 2000),
	E(cuStreamWaitEvent, 3020), E(cuEventCreate, 2000), OTHER("cuEventDestroy", 2000), E(cuEventDestroy, 4000),
	E(cuEventQuery, 2000), E(cuEventRecord, 2000), E(cuEventElapsedTime, 2000), OTHER("cuEventElapsedTime", 12080),
	E(cuMemPoolCreate, 11020), E(cuMemPoolDestroy, 11020), E(cuMemPoolSetAttribute, 11020), E(cuMemPoolSetAccess, 11020),
	E(cuMemPoolTrimTo, 11020), E(cuMemAllocFromPoolAsync, 11020), E(cuMemFreeAsync, 11020),
	OTHER("cuMemGetInfo", 2000), E(cuMemGetInfo, 3020), E(cuMemHostAlloc, 2020), E(cuMemFreeHost, 2000),
	OTHER("cuMemcpyHtoDAsync", 2000), E(cuMemcpyHtoDAsync, 3020), OTHER("cuMemcpyDtoHAsync", 2000), E(cuMemcpyDtoHAsync, 3020),
	OTHER("cuMemcpyDtoDAsync", 3000), E(cuMemcpyDtoDAsync, 3020), E(cuMemcpyPeerAsync, 4000),
	E(cuMemsetD8Async, 3020), E(cuMemsetD16Async, 3020), E(cuMemsetD32Async, 3020), E(cuModuleLoadDataEx, 2010),
	E(cuModuleUnload, 2000), E(cuModuleGetFunction, 2000), E(cuFuncGetAttribute, 2020), E(cuFuncLoad, 12040),
	E(cuLaunchKernel, 4000), E(cuGraphCreate, 10000),
	E(cuGraphAddKernelNode, 10000), OTHER("cuGraphAddKernelNode", 12000),
	OTHER("cuGraphInstantiateWithFlags", 10000), E(cuGraphInstantiateWithFlags, 11040),
	E(cuGraphExecKernelNodeSetParams, 10010), OTHER("cuGraphExecKernelNodeSetParams", 12000),
	E(cuGraphExecDestroy, 10000), E(cuGraphDestroy, 10000), E(cuGraphLaunch, 10000),
};

static result look_up(const char *name, void **p, int version) {
	*p = NULL;
	if (version > DRIVER)
		return 1;
	if (strcmp(name, LACKS) == 0)
		return 0;
	for (size_t i = 0, best = 0; i < sizeof exports / sizeof *exports; i++)
		if (!strcmp(exports[i].name, name) && exports[i].version <= version && (size_t)exports[i].version > best) {
			best = exports[i].version;
			*p = exports[i].p;
		}
	return 0;
}

#ifndef NO_PROC_ADDRESS
result cuGetProcAddress(const char *name, void **p, int version, u64 flags) {
	result r = look_up(name, p, version);
	return r ? r : *p ? 0 : 500;
}
#ifndef OLD_PROC_ADDRESS
result cuGetProcAddress_v2(const char *name, void **p, int version, u64 flags, int *status) {
	if (status)
		*status = 0;
	return look_up(name, p, version);
}
#endif
#endif
