// Package transfer copies between memories: from host to device, back, and from one
// device to another.
//
// A copy between devices takes one stream, and two devices are involved. It is
// ordered after what is already in that stream, and after nothing else. So [Pull]
// makes it a message to a stream actor of the source device, which adds the edges
// that are easily forgotten:
//
//  1. the source's last write happens before the copy,
//  2. the destination's last use happens before the copy,
//  3. the copy happens before the destination's first use, and before the source's
//     next write or free.
//
// No other stream waits. On an H200 (driver 580) a copy of 4 KB issued on the
// source's stream costs 5.4 µs of the CPU, on the destination's 7.9 µs.
package transfer
