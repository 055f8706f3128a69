#include <dlfcn.h>
#include <stdlib.h>

#include "baseline.h"

#define DEFINE(name, version, params) CUresult(*name) params;
DRIVER(DEFINE)
#undef DEFINE

typedef CUresult (*proc_address)(const char *, void **, int, uint64_t, int *);

void open_driver(void) {
	// As many hardware queues as the other sides have.
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		fail("no driver: %s", dlerror());
	// The second version takes one parameter more, which the first ignores.
	proc_address get = (proc_address)dlsym(lib, "cuGetProcAddress_v2");
	if (!get)
		get = (proc_address)dlsym(lib, "cuGetProcAddress");
	if (!get)
		fail("the driver lacks cuGetProcAddress");
#define RESOLVE(name, version, params)                                                                                     \
	if (get(#name, (void **)&name, version, 0, NULL) || !name)                                                         \
		fail("the driver lacks " #name);
	DRIVER(RESOLVE)
#undef RESOLVE
}
