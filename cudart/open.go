package cudart

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
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
	// ErrNoDriver says that there is no driver library to open.
	ErrNoDriver = errors.New("cudart: no NVIDIA driver library on this machine")
	// ErrNoDevices says that there is one, without a device to use.
	ErrNoDevices = errors.New("cudart: the NVIDIA driver shows no device")
)

// VersionError says that the driver is too old: it lacks an entry point.
type VersionError struct {
	Entry  string // what is missing, "cuMemPoolCreate"
	Needs  int    // the CUDA version that brought it, 1000×major + 10×minor
	Driver int    // the driver's version, 0 where it did not say
}

// Error says what is missing, and which driver would have it.
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
	name, source := o.Name, ""
	if name == "" {
		name, source = os.Getenv(Env), Env+"="
	}
	if name == "" {
		name = "auto"
	}
	if name != "auto" {
		open := opener(name)
		if open == nil {
			return nil, unavailable(name, source, Registered())
		}
		return open()
	}
	nvidia, sim := opener("nvidia"), opener("sim")
	if nvidia == nil && sim == nil {
		return nil, errors.New("cudart: the program imports no runtime; add one of these, or both:\n" + importLine("nvidia") + "\n" + importLine("sim"))
	}
	var why error
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
		return nil, fmt.Errorf("%w; to run on the simulator instead, add\n%s", why, importLine("sim"))
	}
	if nvidia != nil {
		saySimulated(o.Logger, why)
	}
	return sim()
}

// unavailable says why there is no runtime of a name: source is what stands before
// the name where it was found, imported what the program has.
func unavailable(name, source string, imported []string) error {
	known := []string{"auto", "nvidia", "sim"}
	for _, n := range imported {
		if !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	if !slices.Contains(known, name) {
		return fmt.Errorf("cudart: %s%q: there is no runtime of that name, known are: %s", source, name, strings.Join(known, ", "))
	}
	has := "none"
	if len(imported) > 0 {
		has = strings.Join(imported, ", ")
	}
	return fmt.Errorf("cudart: %s%q: that runtime is not in this program (it imports: %s); add\n%s", source, name, has, importLine(name))
}

// importLine is the line of a program's imports that brings a runtime.
func importLine(name string) string {
	return "\timport _ \"github.com/gpuactor/gpuactor/cudart/" + name + "\""
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
