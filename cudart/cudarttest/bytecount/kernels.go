// Package bytecount has the kernels that count bytes: those of examples/producerconsumer,
// which bench uses too, and so does the plain Go program there that they are compared with.
package bytecount

import (
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
)

// Kernels is the module: what the driver compiles, and beside it what the simulator
// runs. Any grid and block of one dimension is right for each.
//
//	hist256(in data, n u64, inout bins [256]u32)
//	    adds the counts of the n bytes at data to bins
//	accumulate(in bins [256]u32, inout total [256]u64)
//	    adds the counts of a chunk to those of a file
//	merge(in part [256]u64, inout total [256]u64)
//	    adds the counts of a file to those of all
var Kernels = cudart.Image{
	Name: "histogram",
	PTX:  ptxHead + ptxHist256() + ptxAdd("accumulate", "u32", 4) + ptxAdd("merge", "u64", 8),
	Go: map[string]cudart.GoKernel{
		"hist256":    goHist256,
		"accumulate": goAdd[uint32],
		"merge":      goAdd[uint64],
	},
}

// The oldest target that a driver for current GPUs still takes, in a version of
// PTX that drivers since 2017 know.
const ptxHead = `.version 6.0
.target sm_50
.address_size 64
`

// ptxHist256 counts in shared memory, one table for each block, and adds the
// tables up in global memory: atomics on shared memory are many times cheaper.
//
// Where data is aligned, threads take 16 bytes at a time; the rest, or all of
// what is not aligned, goes byte by byte.
func ptxHist256() string {
	var words strings.Builder
	for _, reg := range []string{"%w0", "%w1", "%w2", "%w3"} {
		words.WriteString(ptxCountWord(reg))
	}
	return `
.visible .entry hist256(
	.param .u64 .ptr .global .align 1 hist256_data,
	.param .u64 hist256_n,
	.param .u64 .ptr .global .align 4 hist256_bins
)
{
	.reg .pred %p;
	.reg .b32 %thread, %threads, %block, %blocks;
	.reg .b32 %table, %one, %i, %a, %c;
	.reg .b32 %w0, %w1, %w2, %w3;
	.reg .b64 %data, %n, %bins, %first, %stride, %vectors, %at, %addr;
	.shared .align 4 .b8 hist256_table[1024];

	ld.param.u64 %data, [hist256_data];
	ld.param.u64 %n, [hist256_n];
	ld.param.u64 %bins, [hist256_bins];
	cvta.to.global.u64 %data, %data;
	cvta.to.global.u64 %bins, %bins;
	mov.u32 %thread, %tid.x;
	mov.u32 %threads, %ntid.x;
	mov.u32 %block, %ctaid.x;
	mov.u32 %blocks, %nctaid.x;
	mov.u32 %table, hist256_table;
	mov.u32 %one, 1;

	mov.u32 %i, %thread;
	mov.u32 %c, 0;
HIST256_ZERO:
	setp.ge.u32 %p, %i, 256;
	@%p bra HIST256_ZEROED;
	shl.b32 %a, %i, 2;
	add.u32 %a, %a, %table;
	st.shared.u32 [%a], %c;
	add.u32 %i, %i, %threads;
	bra HIST256_ZERO;
HIST256_ZEROED:
	bar.sync 0;

	// first: this thread's number in the grid. stride: how many there are.
	cvt.u64.u32 %first, %thread;
	mad.wide.u32 %first, %block, %threads, %first;
	mul.wide.u32 %stride, %blocks, %threads;

	// vectors: how many runs of 16 bytes; none where data is not aligned to that.
	shr.u64 %vectors, %n, 4;
	and.b64 %addr, %data, 15;
	setp.eq.u64 %p, %addr, 0;
	@%p bra HIST256_ALIGNED;
	mov.u64 %vectors, 0;
HIST256_ALIGNED:
	mov.u64 %at, %first;
HIST256_VECTOR:
	setp.ge.u64 %p, %at, %vectors;
	@%p bra HIST256_REST;
	shl.b64 %addr, %at, 4;
	add.u64 %addr, %addr, %data;
	ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%addr];
` + words.String() + `	add.u64 %at, %at, %stride;
	bra HIST256_VECTOR;

HIST256_REST:
	shl.b64 %at, %vectors, 4;
	add.u64 %at, %at, %first;
HIST256_BYTE:
	setp.ge.u64 %p, %at, %n;
	@%p bra HIST256_COUNTED;
	add.u64 %addr, %data, %at;
	ld.global.u8 %a, [%addr];
	shl.b32 %a, %a, 2;
	add.u32 %a, %a, %table;
	red.shared.add.u32 [%a], %one;
	add.u64 %at, %at, %stride;
	bra HIST256_BYTE;
HIST256_COUNTED:
	bar.sync 0;

	mov.u32 %i, %thread;
HIST256_MERGE:
	setp.ge.u32 %p, %i, 256;
	@%p bra HIST256_DONE;
	shl.b32 %a, %i, 2;
	add.u32 %a, %a, %table;
	ld.shared.u32 %c, [%a];
	mul.wide.u32 %addr, %i, 4;
	add.u64 %addr, %addr, %bins;
	red.global.add.u32 [%addr], %c;
	add.u32 %i, %i, %threads;
	bra HIST256_MERGE;
HIST256_DONE:
	ret;
}
`
}

// ptxCountWord counts the four bytes of a register: each, times the 4 bytes of a
// count, is its place in the table.
func ptxCountWord(reg string) string {
	var b strings.Builder
	for _, shift := range []string{"shl.b32 %%a, %s, 2", "shr.u32 %%a, %s, 6", "shr.u32 %%a, %s, 14", "shr.u32 %%a, %s, 22"} {
		fmt.Fprintf(&b, "\t"+shift+";\n", reg)
		b.WriteString("\tand.b32 %a, %a, 1020;\n\tadd.u32 %a, %a, %table;\n\tred.shared.add.u32 [%a], %one;\n")
	}
	return b.String()
}

// ptxAdd adds 256 counts of a type and its size to 256 of 64 bits. No two
// threads of a launch touch the same count, so nothing here is atomic: launches
// with the same total must be ordered.
func ptxAdd(name, typ string, size int) string {
	return strings.NewReplacer("NAME", name, "TYPE", typ, "SIZE", fmt.Sprint(size)).Replace(`
.visible .entry NAME(
	.param .u64 .ptr .global .align SIZE NAME_from,
	.param .u64 .ptr .global .align 8 NAME_total
)
{
	.reg .pred %p;
	.reg .b32 %thread, %threads, %block, %blocks, %i, %stride;
	.reg .b64 %from, %total, %addr, %c, %sum;

	ld.param.u64 %from, [NAME_from];
	ld.param.u64 %total, [NAME_total];
	cvta.to.global.u64 %from, %from;
	cvta.to.global.u64 %total, %total;
	mov.u32 %thread, %tid.x;
	mov.u32 %threads, %ntid.x;
	mov.u32 %block, %ctaid.x;
	mov.u32 %blocks, %nctaid.x;
	mad.lo.u32 %i, %block, %threads, %thread;
	mul.lo.u32 %stride, %blocks, %threads;
NAME_NEXT:
	setp.ge.u32 %p, %i, 256;
	@%p bra NAME_DONE;
	mul.wide.u32 %addr, %i, SIZE;
	add.u64 %addr, %addr, %from;
	ld.global.TYPE %c, [%addr];
	mul.wide.u32 %addr, %i, 8;
	add.u64 %addr, %addr, %total;
	ld.global.u64 %sum, [%addr];
	add.u64 %sum, %sum, %c;
	st.global.u64 [%addr], %sum;
	add.u32 %i, %i, %stride;
	bra NAME_NEXT;
NAME_DONE:
	ret;
}
`)
}

func goHist256(k *cudart.KernelCall) {
	data, n, bins := k.Bytes(0), k.Uint64(1), cudart.View[uint32](k, 2)
	if n > uint64(len(data)) || len(bins) < 256 {
		panic(cudart.Fault{Text: fmt.Sprintf("hist256 of %d bytes: there are %d, and %d bins", n, len(data), len(bins))})
	}
	Add(bins, data[:n])
}

// Add adds the counts of data to bins, of which there are at least 256. It is what
// hist256 does in the simulator.
//
// It counts in four tables: with one, a run of equal bytes makes every addition wait
// for the one before.
func Add(bins []uint32, data []byte) {
	var t [4][256]uint32
	for len(data) >= 4 {
		t[0][data[0]]++
		t[1][data[1]]++
		t[2][data[2]]++
		t[3][data[3]]++
		data = data[4:]
	}
	for _, b := range data {
		t[0][b]++
	}
	for i := range 256 {
		bins[i] += t[0][i] + t[1][i] + t[2][i] + t[3][i]
	}
}

func goAdd[T uint32 | uint64](k *cudart.KernelCall) {
	from, total := cudart.View[T](k, 0), cudart.View[uint64](k, 1)
	if len(from) < 256 || len(total) < 256 {
		panic(cudart.Fault{Text: fmt.Sprintf("adding %d counts to %d", len(from), len(total))})
	}
	for i := range 256 {
		total[i] += uint64(from[i])
	}
}
