//go:build linux && (amd64 || arm64)

package nvidia

import "github.com/gpuactor/gpuactor/cudart"

// entry is an entry point of the driver.
type entry int

// The entry points used. The first ones are those of the commands, in the order
// in which submit.h numbers them.
const (
	cuLaunchKernel entry = iota
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemcpyPeerAsync
	cuMemsetD8Async
	cuMemsetD16Async
	cuMemsetD32Async
	cuEventRecord
	cuStreamWaitEvent
	cuMemFreeAsync
	cuGraphExecKernelNodeSetParams
	cuGraphLaunch

	cuInit
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGet
	cuDeviceGetCount
	cuDeviceGetName
	cuDeviceGetUuid
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDeviceCanAccessPeer
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxCreate
	cuCtxDestroy
	cuCtxPopCurrent
	cuCtxSetCurrent
	cuCtxGetCurrent
	cuCtxGetDevice
	cuCtxSynchronize
	cuCtxEnablePeerAccess
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuEventCreate
	cuEventDestroy
	cuEventQuery
	cuEventElapsedTime
	cuMemPoolCreate
	cuMemPoolDestroy
	cuMemPoolSetAttribute
	cuMemPoolSetAccess
	cuMemPoolTrimTo
	cuMemAllocFromPoolAsync
	cuMemGetInfo
	cuMemHostAlloc
	cuMemFreeHost
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuFuncLoad
	cuGraphCreate
	cuGraphAddKernelNode
	cuGraphInstantiateWithFlags
	cuGraphExecDestroy
	cuGraphDestroy

	entries int = iota
)

// entryInfo says how an entry point is asked for. The driver keeps every
// signature that a name ever had, and gives the newest one up to the version
// asked: so this is the version that brought the signature we call with, and
// never the version of the driver. (cuCtxCreate takes two parameters as of 3.2,
// three as of 11.4, four as of 13.0.)
type entryInfo struct {
	name     string
	version  int // 1000×major + 10×minor
	optional bool
}

var table = [entries]entryInfo{
	cuLaunchKernel:    {name: "cuLaunchKernel", version: 4000},
	cuMemcpyHtoDAsync: {name: "cuMemcpyHtoDAsync", version: 3020},
	cuMemcpyDtoHAsync: {name: "cuMemcpyDtoHAsync", version: 3020},
	cuMemcpyDtoDAsync: {name: "cuMemcpyDtoDAsync", version: 3020},
	cuMemcpyPeerAsync: {name: "cuMemcpyPeerAsync", version: 4000},
	cuMemsetD8Async:   {name: "cuMemsetD8Async", version: 3020},
	cuMemsetD16Async:  {name: "cuMemsetD16Async", version: 3020},
	cuMemsetD32Async:  {name: "cuMemsetD32Async", version: 3020},
	cuEventRecord:     {name: "cuEventRecord", version: 2000},
	cuStreamWaitEvent: {name: "cuStreamWaitEvent", version: 3020},
	cuMemFreeAsync:    {name: "cuMemFreeAsync", version: 11020},

	cuGraphExecKernelNodeSetParams: {name: "cuGraphExecKernelNodeSetParams", version: 10010}, // with 9 fields; 11 as of 12.0
	cuGraphLaunch:                  {name: "cuGraphLaunch", version: 10000},

	cuInit:             {name: "cuInit", version: 2000},
	cuDriverGetVersion: {name: "cuDriverGetVersion", version: 2020},
	cuGetErrorName:     {name: "cuGetErrorName", version: 6000},
	cuGetErrorString:   {name: "cuGetErrorString", version: 6000},

	cuDeviceGet:           {name: "cuDeviceGet", version: 2000},
	cuDeviceGetCount:      {name: "cuDeviceGetCount", version: 2000},
	cuDeviceGetName:       {name: "cuDeviceGetName", version: 2000},
	cuDeviceGetUuid:       {name: "cuDeviceGetUuid", version: 11040}, // tells the parts of a divided GPU apart
	cuDeviceTotalMem:      {name: "cuDeviceTotalMem", version: 3020},
	cuDeviceGetAttribute:  {name: "cuDeviceGetAttribute", version: 2000},
	cuDeviceCanAccessPeer: {name: "cuDeviceCanAccessPeer", version: 4000},

	cuDevicePrimaryCtxRetain:  {name: "cuDevicePrimaryCtxRetain", version: 7000},
	cuDevicePrimaryCtxRelease: {name: "cuDevicePrimaryCtxRelease", version: 11000},
	cuCtxCreate:               {name: "cuCtxCreate", version: 3020},
	cuCtxDestroy:              {name: "cuCtxDestroy", version: 4000},
	cuCtxPopCurrent:           {name: "cuCtxPopCurrent", version: 4000},
	cuCtxSetCurrent:           {name: "cuCtxSetCurrent", version: 4000},
	cuCtxGetCurrent:           {name: "cuCtxGetCurrent", version: 4000},
	cuCtxGetDevice:            {name: "cuCtxGetDevice", version: 2000},
	cuCtxSynchronize:          {name: "cuCtxSynchronize", version: 2000},
	cuCtxEnablePeerAccess:     {name: "cuCtxEnablePeerAccess", version: 4000},

	cuStreamCreate:      {name: "cuStreamCreate", version: 2000},
	cuStreamDestroy:     {name: "cuStreamDestroy", version: 4000},
	cuStreamSynchronize: {name: "cuStreamSynchronize", version: 2000},
	cuEventCreate:       {name: "cuEventCreate", version: 2000},
	cuEventDestroy:      {name: "cuEventDestroy", version: 4000},
	cuEventQuery:        {name: "cuEventQuery", version: 2000},
	cuEventElapsedTime:  {name: "cuEventElapsedTime", version: 2000},

	cuMemPoolCreate:         {name: "cuMemPoolCreate", version: 11020},
	cuMemPoolDestroy:        {name: "cuMemPoolDestroy", version: 11020},
	cuMemPoolSetAttribute:   {name: "cuMemPoolSetAttribute", version: 11020},
	cuMemPoolSetAccess:      {name: "cuMemPoolSetAccess", version: 11020},
	cuMemPoolTrimTo:         {name: "cuMemPoolTrimTo", version: 11020},
	cuMemAllocFromPoolAsync: {name: "cuMemAllocFromPoolAsync", version: 11020},
	cuMemGetInfo:            {name: "cuMemGetInfo", version: 3020},
	cuMemHostAlloc:          {name: "cuMemHostAlloc", version: 2020},
	cuMemFreeHost:           {name: "cuMemFreeHost", version: 2000},

	cuModuleLoadDataEx:  {name: "cuModuleLoadDataEx", version: 2010},
	cuModuleUnload:      {name: "cuModuleUnload", version: 2000},
	cuModuleGetFunction: {name: "cuModuleGetFunction", version: 2000},
	cuFuncGetAttribute:  {name: "cuFuncGetAttribute", version: 2020},
	cuFuncLoad:          {name: "cuFuncLoad", version: 12040, optional: true},

	cuGraphCreate:               {name: "cuGraphCreate", version: 10000},
	cuGraphAddKernelNode:        {name: "cuGraphAddKernelNode", version: 10000}, // with 9 fields; 11 as of 12.0
	cuGraphInstantiateWithFlags: {name: "cuGraphInstantiateWithFlags", version: 11040},
	cuGraphExecDestroy:          {name: "cuGraphExecDestroy", version: 10000},
	cuGraphDestroy:              {name: "cuGraphDestroy", version: 10000},
}

func (e entry) String() string { return table[e].name }

// addresses are the entry points of an opened library, 0 where an optional one
// is missing.
type addresses [entries]uintptr

// resolve looks every entry point up, in the order above. lookup gives 0 for
// what the library does not have; driver is the driver's version.
func resolve(lookup func(name string, version int) uintptr, driver int) (a addresses, err error) {
	for e, info := range table {
		a[e] = lookup(info.name, info.version)
		if a[e] == 0 && !info.optional {
			return addresses{}, &cudart.VersionError{Entry: info.name, Needs: info.version, Driver: driver}
		}
	}
	return a, nil
}
