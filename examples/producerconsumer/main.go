// Producerconsumer is a file scanner: it counts the bytes of files on the GPU, and
// says of each file how much entropy it has and of what kind it is.
//
// It is also the program to start from. Producers, actors on one device, read
// files chunk by chunk, upload each chunk and count it; consumers, actors on another
// device, get chunk and counts handed over, pull them across, and add them up.
// pipeline.go says how they are joined, producer.go and consumer.go are the two sides.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func main() {
	os.Exit(run(untilInterrupt(), os.Args[1:], os.Stdout, os.Stderr, gpu{}))
}

// untilInterrupt is a context that the first interrupt ends. A later one is the
// system's to handle, should the first not help; within a second it is the same one:
// who signals a process and its group, as timeout(1) does, signals twice.
func untilInterrupt() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	return ctx
}
