//go:build linux && (amd64 || arm64)

package nvidia

import (
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpuactor/gpuactor/cudart"
)

// driver is the opened library. Nothing in it changes after openLibrary, so that
// any thread may use it.
type driver struct {
	entries addresses
	version int
	devices int
	start   time.Time
}

var _ cudart.Runtime = (*driver)(nil)

func (d *driver) Name() string       { return "nvidia" }
func (d *driver) DriverVersion() int { return d.version }
func (d *driver) Now() time.Duration { return time.Since(d.start) }

// Close does nothing: the driver's state belongs to the process, and other
// libraries in it may be using the driver as well.
func (d *driver) Close() error { return nil }

// call calls an entry point. Go memory whose address is converted in the
// argument list is on the heap and alive until the call returns.
//
//go:uintptrescapes
func (d *driver) call(e entry, args ...uintptr) cudart.Code {
	r, _, _ := purego.SyscallN(d.entries[e], args...)
	return cudart.Code(r) // the lower half: the upper one of the register is undefined
}

// do is call, with the error made.
//
//go:uintptrescapes
func (d *driver) do(e entry, args ...uintptr) error {
	if code := d.call(e, args...); code != 0 {
		return d.refused(e, code, "")
	}
	return nil
}

// in is do, where ctx must be current on the thread.
//
//go:uintptrescapes
func (d *driver) in(ctx cudart.Context, e entry, args ...uintptr) error {
	if err := d.need(ctx, e); err != nil {
		return err
	}
	return d.do(e, args...)
}

// need checks that ctx is current. The driver would take whichever context is,
// and make a stream or an event in the wrong one without a word.
func (d *driver) need(ctx cudart.Context, e entry) error {
	current, err := d.Current()
	if err != nil {
		return err
	}
	if ctx == 0 || current != ctx {
		return &cudart.Error{Code: cudart.ErrInvalidContext, Call: e.String(), Text: "the context is not current on this thread"}
	}
	return nil
}

// needStream is need, and that s is a stream: the driver takes 0 for the legacy
// default stream, which waits for all others.
func (d *driver) needStream(ctx cudart.Context, s cudart.Stream, e entry) error {
	if s == 0 {
		return noStream(e)
	}
	return d.need(ctx, e)
}

func noStream(e entry) error {
	return &cudart.Error{Code: cudart.ErrInvalidHandle, Call: e.String(), Text: "no stream"}
}

// refused makes the error of a call. A detail of ours goes before the driver's
// text.
func (d *driver) refused(e entry, code cudart.Code, detail string) error {
	text := d.describe(cuGetErrorString, code)
	if detail != "" && text != "" {
		detail += ": "
	}
	return &cudart.Error{Code: code, Name: d.describe(cuGetErrorName, code), Call: e.String(), Text: detail + text}
}

// describe is what the driver says about a code; empty where it knows none.
func (d *driver) describe(e entry, code cudart.Code) string {
	var p *byte
	if d.call(e, uintptr(code), uintptr(unsafe.Pointer(&p))) != 0 || p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// cstring is s as C has strings.
func cstring(s string) []byte { return append([]byte(s), 0) }
