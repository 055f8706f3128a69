package sim

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// module is a loaded image: the names that its PTX declares, and Go for them.
type module struct {
	ctx     *context
	image   string
	kernels map[string]cudart.GoKernel // nil where there is PTX and no Go
	costs   map[string]func(*cudart.KernelCall) time.Duration

	mu    sync.Mutex
	found map[string]cudart.Function
}

// function is a kernel of a module. Launches that were submitted keep it.
type function struct {
	ctx  *context
	name string
	run  cudart.GoKernel
	cost func(*cudart.KernelCall) time.Duration // nil: not stated
	info cudart.FunctionInfo

	waits atomic.Bool // a launch has yielded
}

func (r *simulator) LoadModule(ctx cudart.Context, image cudart.Image) (cudart.Module, error) {
	const call = "cuModuleLoadDataEx"
	c, err := r.enter(ctx, call)
	if err != nil {
		return 0, err
	}
	entries, code, why := readPTX(image.PTX, &c.device.info)
	if code != 0 {
		return 0, refuse(code, call, "module %s: %s", image.Name, why)
	}
	m := &module{ctx: c, image: image.Name, costs: image.Cost, kernels: map[string]cudart.GoKernel{}, found: map[string]cudart.Function{}}
	for _, e := range entries {
		m.kernels[e.Name] = image.Go[e.Name]
	}
	h := r.moduleTable.put(m)
	if h == 0 {
		return 0, refuse(cudart.ErrOutOfMemory, call, "too many modules")
	}
	return cudart.Module(h), nil
}

var ptxTarget = regexp.MustCompile(`(?m)^\s*\.target\s+sm_(\d+)`)

// readPTX takes a module's text as far as the driver can refuse it without
// compiling: code is zero where it does not.
func readPTX(text string, d *cudart.DeviceInfo) (entries []cudart.Entry, code cudart.Code, why string) {
	if text == "" {
		return nil, cudart.ErrInvalidImage, "it is empty"
	}
	entries, err := cudart.ParsePTX(text)
	var e *cudart.Error
	if errors.As(err, &e) {
		return nil, e.Code, e.Text
	}
	if err != nil {
		return nil, cudart.ErrInvalidPTX, err.Error()
	}
	if m := ptxTarget.FindStringSubmatch(text); m != nil {
		if sm, err := strconv.Atoi(m[1]); err != nil || sm > 10*d.Major+d.Minor {
			return nil, cudart.ErrNoBinaryForGPU, fmt.Sprintf("it is for sm_%s, the device is sm_%d%d", m[1], d.Major, d.Minor)
		}
	}
	return entries, 0, ""
}

func (r *simulator) UnloadModule(ctx cudart.Context, h cudart.Module) error {
	const call = "cuModuleUnload"
	goOn, err := r.letGo(ctx, call)
	if !goOn {
		return err
	}
	m := r.moduleTable.take(uintptr(h))
	if m == nil {
		return absent(err, cudart.ErrInvalidHandle, call, "no module %#x", uintptr(h))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.found {
		r.functionTable.take(uintptr(f))
	}
	return err
}

func (r *simulator) Function(ctx cudart.Context, h cudart.Module, name string) (cudart.Function, cudart.FunctionInfo, error) {
	const call = "cuModuleGetFunction"
	info := cudart.FunctionInfo{}
	c, err := r.enter(ctx, call)
	if err != nil {
		return 0, info, err
	}
	m := r.moduleTable.get(uintptr(h))
	if m == nil || m.ctx != c {
		return 0, info, refuse(cudart.ErrInvalidHandle, call, "no module %#x in this context", uintptr(h))
	}
	kernel, declared := m.kernels[name]
	if !declared {
		return 0, info, refuse(cudart.ErrNotFound, call, "module %s has no kernel %s", m.image, name)
	}
	if kernel == nil {
		return 0, info, refuse(cudart.ErrNotSupported, call, "kernel %s of module %s has no Go function, and the simulator runs no PTX", name, m.image)
	}
	info.MaxThreads = c.device.info.MaxThreads
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.found[name]; ok {
		return f, info, nil
	}
	f := r.functionTable.put(&function{ctx: c, name: name, run: kernel, cost: m.costs[name], info: info})
	if f == 0 {
		return 0, info, refuse(cudart.ErrOutOfMemory, call, "too many functions")
	}
	m.found[name] = cudart.Function(f)
	return cudart.Function(f), info, nil
}
