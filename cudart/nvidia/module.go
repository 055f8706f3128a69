//go:build linux && (amd64 || arm64)

package nvidia

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogSize       = 8 << 10

	funcMaxThreadsPerBlock = 0
)

// LoadModule lets the driver compile first and reads the kernels' names after
// it, because the compiler says better what is wrong with a text.
func (d *driver) LoadModule(ctx cudart.Context, image cudart.Image) (cudart.Module, error) {
	if err := d.need(ctx, cuModuleLoadDataEx); err != nil {
		return 0, err
	}
	if image.PTX == "" {
		return 0, &cudart.Error{Code: cudart.ErrInvalidImage, Call: cuModuleLoadDataEx.String(),
			Text: fmt.Sprintf("module %q has no PTX", image.Name)}
	}
	m, err := d.compile(image)
	if err != nil {
		return 0, err
	}
	if err := d.loadKernels(m, image); err != nil {
		return 0, errors.Join(err, d.do(cuModuleUnload, uintptr(m)))
	}
	return m, nil
}

// compile compiles and loads; what the compiler says goes into the error.
func (d *driver) compile(image cudart.Image) (cudart.Module, error) {
	text := cstring(image.PTX)
	log := make([]byte, jitLogSize)
	var pin runtime.Pinner // the driver gets the log's address inside another array
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := [...]int32{jitErrorLog, jitErrorLogBytes}
	values := [...]uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogSize}

	var m cudart.Module
	code := d.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
	if code == 0 {
		return m, nil
	}
	detail := fmt.Sprintf("module %q", image.Name)
	said, _, _ := bytes.Cut(log, []byte{0})
	if said = bytes.TrimSpace(said); len(said) > 0 {
		detail += ": " + string(said)
	}
	return 0, d.refused(cuModuleLoadDataEx, code, detail)
}

// loadKernels loads every kernel of the module now: a driver that loads lazily
// would do it at the first launch, and may synchronise the device there.
func (d *driver) loadKernels(m cudart.Module, image cudart.Image) error {
	kernels, err := cudart.ParsePTX(image.PTX)
	if err != nil {
		return fmt.Errorf("module %q: %w", image.Name, err)
	}
	for _, k := range kernels {
		f, err := d.function(m, k.Name)
		if err != nil {
			return err
		}
		if err := d.loadKernel(f); err != nil {
			return fmt.Errorf("kernel %q of module %q: %w", k.Name, image.Name, err)
		}
	}
	return nil
}

// loadKernel: before it could be asked for, a question about the kernel had
// loading it for a side effect.
func (d *driver) loadKernel(f cudart.Function) error {
	if d.entries[cuFuncLoad] != 0 {
		return d.do(cuFuncLoad, uintptr(f))
	}
	_, err := d.maxThreads(f)
	return err
}

func (d *driver) maxThreads(f cudart.Function) (int, error) {
	var n int32
	err := d.do(cuFuncGetAttribute, uintptr(unsafe.Pointer(&n)), funcMaxThreadsPerBlock, uintptr(f))
	return int(n), err
}

func (d *driver) function(m cudart.Module, name string) (cudart.Function, error) {
	if name == "" || strings.Contains(name, "\x00") { // C would take what is in front of the zero
		return 0, &cudart.Error{Code: cudart.ErrNotFound, Call: cuModuleGetFunction.String(), Text: fmt.Sprintf("kernel %q: not a name", name)}
	}
	cname := cstring(name)
	var f cudart.Function
	code := d.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(&cname[0])))
	if code != 0 {
		return 0, d.refused(cuModuleGetFunction, code, fmt.Sprintf("kernel %q", name))
	}
	return f, nil
}

func (d *driver) UnloadModule(ctx cudart.Context, m cudart.Module) error {
	return d.in(ctx, cuModuleUnload, uintptr(m))
}

func (d *driver) Function(ctx cudart.Context, m cudart.Module, name string) (cudart.Function, cudart.FunctionInfo, error) {
	if err := d.need(ctx, cuModuleGetFunction); err != nil {
		return 0, cudart.FunctionInfo{}, err
	}
	f, err := d.function(m, name)
	if err != nil {
		return 0, cudart.FunctionInfo{}, err
	}
	n, err := d.maxThreads(f)
	return f, cudart.FunctionInfo{MaxThreads: n}, err
}
