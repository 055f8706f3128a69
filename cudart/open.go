package cudart

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sort"
	"strings"
	"sync"
)

// Env is the environment variable that chooses a runtime where the program
// does not: auto, nvidia or sim.
const Env = "GPUACTOR_RUNTIME"

// Why the driver could not be taken. Both make "auto" go on to the simulator;
// any other failure of the driver does not.
var (
	ErrNoDriver  = errors.New("cudart: no NVIDIA driver library on this machine")
	ErrNoDevices = errors.New("cudart: the NVIDIA driver shows no device")
)

// VersionError says that the driver is too old: it lacks an entry point.
type VersionError struct {
	Entry  string // what is missing, "cuMemPoolCreate"
	Needs  int    // the CUDA version that brought it, 1000×major + 10×minor
	Driver int    // the driver's version, 0 where it did not say
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("cudart: the driver lacks %s (it came with CUDA %d.%d; the driver is for CUDA %d.%d): a newer driver is needed",
		e.Entry, e.Needs/1000, e.Needs%1000/10, e.Driver/1000, e.Driver%1000/10)
}

var registry struct {
	sync.Mutex
	open map[string]func() (Runtime, error)
	said bool // that the simulator stands in for the driver
}

// Register makes a runtime known under a name. Packages of runtimes call it
// from init; a second one of a name panics.
func Register(name string, open func() (Runtime, error)) {
	registry.Lock()
	defer registry.Unlock()
	if registry.open == nil {
		registry.open = map[string]func() (Runtime, error){}
	}
	if registry.open[name] != nil {
		panic("cudart: runtime " + name + " registered twice")
	}
	registry.open[name] = open
}

// Registered lists the names of the runtimes that the program imports, sorted.
func Registered() []string {
	registry.Lock()
	defer registry.Unlock()
	names := make([]string, 0, len(registry.open))
	for n := range registry.open {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Options say which runtime [Open] takes.
type Options struct {
	Name   string       // auto, nvidia, sim; empty: as GPUACTOR_RUNTIME says, else auto
	Logger *slog.Logger // nil: slog.Default()
}

// Open opens a runtime. "auto" takes the driver where the program imports it
// and a device is present; then the simulator, where the program imports that,
// and says so once in the log; else it fails with what is missing. A driver that
// is there with a device and does not work is always an error.
func Open(o Options) (Runtime, error) {
	name := o.Name
	if name == "" {
		name = os.Getenv(Env)
	}
	if name == "" {
		name = "auto"
	}
	if name != "auto" {
		open := opener(name)
		if open == nil {
			return nil, fmt.Errorf("cudart: runtime %q is not in this program (it imports: %s): import _ \"github.com/gpuactor/gpuactor/cudart/%s\"", name, strings.Join(Registered(), ", "), name)
		}
		return open()
	}
	nvidia, sim := opener("nvidia"), opener("sim")
	why := errors.New("cudart: the program does not import cudart/nvidia")
	if nvidia != nil {
		rt, err := nvidia()
		if err == nil {
			return rt, nil
		}
		if !errors.Is(err, ErrNoDriver) && !errors.Is(err, ErrNoDevices) {
			return nil, err
		}
		why = err
	}
	if sim == nil {
		return nil, fmt.Errorf("%w, and the program does not import cudart/sim", why)
	}
	if nvidia != nil {
		saySimulated(o.Logger, why)
	}
	return sim()
}

func opener(name string) func() (Runtime, error) {
	registry.Lock()
	defer registry.Unlock()
	return registry.open[name]
}

func saySimulated(log *slog.Logger, why error) {
	registry.Lock()
	said := registry.said
	registry.said = true
	registry.Unlock()
	if said {
		return
	}
	if log == nil {
		log = slog.Default()
	}
	log.Info("gpuactor runs on the simulator", "because", why.Error())
}
