//go:build unix

package main

import "syscall"

// nonblock keeps an open of a pipe, and a read of a file like /proc/kmsg, from
// waiting for somebody who may never come.
const nonblock = syscall.O_NONBLOCK
