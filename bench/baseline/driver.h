// The part of the CUDA driver API that the baseline uses, declared by hand from
// its public documentation, and opened at run time: it builds where there is
// neither a toolkit nor a driver.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
	CUDA_ERROR_NOT_READY = 600,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_MEMHOSTALLOC_PORTABLE = 1,
	CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
	CU_GRAPH_LAUNCH_FLAGS_NONE = 0,
};

// Each line: name, the CUDA version that brought the signature which follows.
#define DRIVER(X)                                                                                                          \
	X(cuInit, 2000, (unsigned))                                                                                        \
	X(cuGetErrorName, 6000, (CUresult, const char **))                                                                 \
	X(cuDeviceGet, 2000, (CUdevice *, int))                                                                            \
	X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice))                                                         \
	X(cuCtxCreate, 3020, (CUcontext *, unsigned, CUdevice))                                                            \
	X(cuCtxSetCurrent, 4000, (CUcontext))                                                                              \
	X(cuCtxSynchronize, 2000, (void))                                                                                  \
	X(cuModuleLoadDataEx, 2010, (CUmodule *, const void *, unsigned, int *, void **))                                  \
	X(cuModuleGetFunction, 2000, (CUfunction *, CUmodule, const char *))                                               \
	X(cuStreamCreate, 2000, (CUstream *, unsigned))                                                                    \
	X(cuStreamDestroy, 4000, (CUstream))                                                                               \
	X(cuStreamSynchronize, 2000, (CUstream))                                                                           \
	X(cuStreamWaitEvent, 3020, (CUstream, CUevent, unsigned))                                                          \
	X(cuStreamBeginCapture, 10010, (CUstream, int))                                                                    \
	X(cuStreamEndCapture, 10000, (CUstream, CUgraph *))                                                                \
	X(cuEventCreate, 2000, (CUevent *, unsigned))                                                                      \
	X(cuEventDestroy, 4000, (CUevent))                                                                                 \
	X(cuEventRecord, 2000, (CUevent, CUstream))                                                                        \
	X(cuEventQuery, 2000, (CUevent))                                                                                   \
	X(cuGraphInstantiateWithFlags, 11040, (CUgraphExec *, CUgraph, unsigned long long))                                \
	X(cuGraphLaunch, 10000, (CUgraphExec, CUstream))                                                                   \
	X(cuGraphExecDestroy, 10000, (CUgraphExec))                                                                        \
	X(cuGraphDestroy, 10000, (CUgraph))                                                                                \
	X(cuMemAlloc, 3020, (CUdeviceptr *, size_t))                                                                       \
	X(cuMemFree, 3020, (CUdeviceptr))                                                                                  \
	X(cuMemAllocAsync, 11020, (CUdeviceptr *, size_t, CUstream))                                                       \
	X(cuMemFreeAsync, 11020, (CUdeviceptr, CUstream))                                                                  \
	X(cuMemHostAlloc, 2020, (void **, size_t, unsigned))                                                               \
	X(cuMemFreeHost, 2000, (void *))                                                                                   \
	X(cuMemcpyHtoDAsync, 3020, (CUdeviceptr, const void *, size_t, CUstream))                                          \
	X(cuMemcpyDtoHAsync, 3020, (void *, CUdeviceptr, size_t, CUstream))                                                \
	X(cuMemcpyDtoDAsync, 3020, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                           \
	X(cuMemcpyPeerAsync, 4000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))                     \
	X(cuMemsetD32Async, 3020, (CUdeviceptr, unsigned, size_t, CUstream))                                               \
	X(cuLaunchKernel, 4000,                                                                                            \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#define DECLARE(name, version, params) extern CUresult(*name) params;
DRIVER(DECLARE)
#undef DECLARE

// open_driver finds the entry points; it ends the program where it cannot.
void open_driver(void);
