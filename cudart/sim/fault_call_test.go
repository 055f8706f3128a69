package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// The kinds of calls are those that the code names: one that is added and not listed
// could not be made to fail.
func TestCallsAreThoseOfTheCode(t *testing.T) {
	found := map[string]bool{closeCall: true}
	const asEver = "cuGraphLaunch" // what it refuses is launched as ever
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "fault_call.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, _ := strconv.Unquote(l.Value); len(s) > 3 && strings.HasPrefix(s, "cu") && s[2] >= 'A' && s[2] <= 'Z' && !strings.Contains(s, " ") {
					found[s] = true
				}
			}
			return true
		})
	}
	delete(found, asEver)
	for name := range found {
		if !slices.Contains(calls, name) {
			t.Errorf("%s is not in the list in fault_call.go", name)
		}
	}
	for _, name := range calls {
		if !found[name] {
			t.Errorf("%s is in the list in fault_call.go and nowhere else", name)
		}
	}
}

// everyCall makes each call at least once that a rule can refuse, on a machine of its
// own, and returns the errors.
func everyCall(g *rig, call func(error)) {
	r, ctx := g.r, g.ctx
	try := func(fill func(l *cudart.List)) {
		_, err := g.try(g.stream, fill)
		call(err)
	}
	_, err := r.Devices()
	call(err)
	peer, err := r.RetainPrimary(1)
	if call(err); err != nil {
		peer = must(r.RetainPrimary(1))
	}
	must(r.RetainPrimary(1))
	err = r.ReleasePrimary(1)
	if call(err); err != nil {
		g.is(r.ReleasePrimary(1), 0)
	}
	other, err := r.CreateContext(1)
	call(err)
	if err == nil {
		call(r.DestroyContext(other))
	}
	call(r.SetCurrent(ctx))
	_, err = r.Current()
	call(err)
	call(r.SynchronizeContext(ctx))
	_, err = r.CanAccessPeer(0, 1)
	call(err)
	call(r.EnablePeer(ctx, peer))
	s, err := r.CreateStream(ctx)
	call(err)
	if err == nil {
		call(r.SynchronizeStream(ctx, s))
		call(r.DestroyStream(ctx, s))
	}
	e, err := r.CreateEvent(ctx, true)
	call(err)
	if err == nil {
		try(func(l *cudart.List) { l.Record(e) })
		try(func(l *cudart.List) { l.Wait(e) })
		g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
		g.hand.all()
		_, err = r.QueryEvent(e)
		call(err)
		_, err = r.Elapsed(e, e)
		call(err)
		call(r.DestroyEvent(ctx, e))
	}
	p, err := r.CreatePool(ctx)
	call(err)
	if err == nil {
		call(r.AllowPeer(ctx, p, 1))
		call(r.TrimPool(ctx, p, 0))
		call(r.DestroyPool(ctx, p))
	}
	_, _, err = r.MemInfo(ctx)
	call(err)
	mem, err := r.Alloc(ctx, g.pool, 64, g.stream)
	call(err)
	host, hostErr := r.AllocHost(ctx, 64)
	call(hostErr)
	if err == nil && hostErr == nil {
		try(func(l *cudart.List) { l.CopyHtoD(mem, host, 64) })
		try(func(l *cudart.List) { l.CopyDtoH(host, mem, 64) })
		try(func(l *cudart.List) { l.CopyDtoD(mem, mem+32, 32) })
		try(func(l *cudart.List) { l.CopyPeer(mem, ctx, mem+32, ctx, 32) })
		for _, width := range []int{1, 2, 4} {
			try(func(l *cudart.List) { l.Fill(mem, 0, width, 4) })
		}
		try(func(l *cudart.List) { l.Free(mem) })
		g.hand.all()
		call(r.FreeHost(ctx, host))
	}
	m, err := r.LoadModule(ctx, cudart.Image{Name: "one", PTX: testPTX, Go: map[string]cudart.GoKernel{"log": func(*cudart.KernelCall) {}}})
	call(err)
	if err == nil {
		f, _, err := r.Function(ctx, m, "log")
		call(err)
		if err == nil {
			try(func(l *cudart.List) { l.Launch(f, one, one, 0, cudart.Arg{}) })
			g.hand.all()
			graph, err := r.InstantiateLaunch(ctx, f, 1)
			call(err)
			if err == nil {
				call(r.DestroyLaunch(ctx, graph))
			}
		}
		call(r.UnloadModule(ctx, m))
	}
	if g.r.lost.Load() == nil {
		g.is(r.ReleasePrimary(1), 0)
	}
}

// Each call fails once, with the code and its own name, and the calls beside it do not.
func TestEveryCallCanFail(t *testing.T) {
	for _, name := range Calls() {
		if name == closeCall {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g := newHandRig(t, Config{})
			rule := Inject(g.r, CallFault{Call: name, Code: cudart.ErrNotPermitted, When: Nth(1)})
			failed := 0
			everyCall(g, func(err error) {
				if err == nil {
					return
				}
				g.is(err, cudart.ErrNotPermitted)
				if !strings.Contains(err.Error(), name+":") {
					t.Errorf("%v", err)
				}
				failed++
			})
			if failed != 1 || rule.Hits() != 1 {
				t.Errorf("%d calls failed, %d by the rule's account", failed, rule.Hits())
			}
			rule.Lift()
			everyCall(g, func(err error) { g.is(err, 0) })
			if g.r.faults.Load() != nil {
				t.Error("without rules there is a set of them")
			}
		})
	}
}

func TestCloseCanFailAndCloses(t *testing.T) {
	r := New(Config{Faults: []Fault{CallFault{Call: closeCall, Code: cudart.ErrUnknown}}}).(*simulator)
	if err := r.Close(); err == nil || r.lost.Load() == nil {
		t.Errorf("closed with %v", err)
	}
}

// A refused command: what is behind it in the list is as ever.
func TestARefusedCommandInAList(t *testing.T) {
	g := newHandRig(t, Config{})
	rule := Inject(g.r, CallFault{Call: "cuLaunchKernel", Code: cudart.ErrLaunchResources, When: Nth(2)})
	e := must(g.r.CreateEvent(g.ctx, false))
	i, err := g.try(g.stream, func(l *cudart.List) {
		for id := range uint64(3) {
			g.launch(l, "log", cudart.Arg{Slot: id})
		}
		l.Record(e)
	})
	if g.is(err, cudart.ErrLaunchResources); i != 1 {
		t.Errorf("command %d was refused", i)
	}
	if done := must(g.r.QueryEvent(e)); done {
		t.Error("the record behind it was lost")
	}
	g.hand.all()
	g.logged(0)
	if rule.Hits() != 1 {
		t.Errorf("%d hits", rule.Hits())
	}
}

// A code that is sticky loses the machine, from whatever call.
func TestAStickyRefusal(t *testing.T) {
	for _, name := range []string{"cuEventCreate", "cuLaunchKernel", "cuCtxCreate", "cuEventQuery"} {
		t.Run(name, func(t *testing.T) {
			g := newHandRig(t, Config{})
			Inject(g.r, CallFault{Call: name, Code: cudart.ErrECCUncorrectable, When: Nth(1)})
			first := false
			everyCall2 := func(err error) {
				if first = first || err != nil; first {
					g.is(err, cudart.ErrECCUncorrectable)
				}
			}
			_, err := g.r.CreateEvent(g.ctx, false)
			everyCall2(err)
			_, err = g.r.CreateContext(0)
			everyCall2(err)
			_, err = g.try(g.stream, func(l *cudart.List) { g.launch(l, "log", cudart.Arg{}) })
			everyCall2(err)
			if err == nil {
				g.hand.all()
			}
			if name == "cuEventQuery" {
				_, err = g.r.QueryEvent(must(g.r.CreateEvent(g.ctx, false)))
				everyCall2(err)
			}
			_, err = g.r.Alloc(g.ctx, g.pool, 64, g.stream)
			g.is(err, cudart.ErrECCUncorrectable)
		})
	}
}

func TestRulesThatMakeNoSense(t *testing.T) {
	for _, f := range []Fault{
		nil,
		CallFault{Call: "cuEventCreat", Code: cudart.ErrUnknown},
		CallFault{Call: "cuEventCreate"},
		CallFault{Call: "cuEventCreate", Code: cudart.ErrUnknown, When: When{Chance: 2}},
		LinkFault{From: 0, To: 2, Does: Drops},
		LinkFault{From: 0, To: 1},
		LinkFault{From: -3, To: 1, Does: Hangs},
		PeerFault{0, Host},
		KernelFault{},
		KernelFault{Code: cudart.ErrAssert, Hangs: true},
		KernelFault{Code: cudart.ErrInvalidValue},
		KernelFault{Slower: 0.5},
		KernelFault{Slower: math.NaN()},
		KernelFault{Slower: math.Inf(1)},
		MemoryFault{Of: Any, Bytes: 1},
		MemoryFault{Of: 0},
		DeviceFault{Device: 2},
		DeviceFault{Code: cudart.ErrInvalidValue},
		DeviceFault{After: -1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was taken", f)
				}
			}()
			Inject(New(Config{}), f)
		}()
	}
}
