// Package bench measures gpuactor. Its benchmarks run anywhere: on the simulator
// they count allocations, which are the same everywhere, and on a GPU they measure
// time.
//
//	go test -bench . ./bench
//	GPUACTOR_RUNTIME=nvidia go test -bench . ./bench
package bench
