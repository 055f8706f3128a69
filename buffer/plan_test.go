package buffer

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

type (
	pair struct {
		Name string
		A    Buf[float32]
		n    int
		B    Buf[uint8]
	}
	nested struct {
		P  [2]pair
		In struct{ h Host[int64] }
	}
	listed struct{ Items []Buf[float32] }
	// byPointer lists what it carries by a method of its pointer.
	byPointer struct{ Items map[string]Buf[uint8] }
	hiding    struct{ Items []Buf[float32] }
	deep      struct{ Next *deep }
	deepBuf   struct {
		Next *deepBuf
		B    Buf[uint8]
	}
	// way is a channel of somebody's, which holds buffers that are not carried.
	way[T any] struct{ Ring []T }
	asking     struct {
		A       Buf[float32]
		Back    *way[answering]
		All     []*way[Buf[float32]]
		Go      chan Host[float32]
		ByValue way[Buf[uint8]]
	}
	answering struct {
		B  Host[float32]
		Of *way[asking]
	}
	plain struct {
		A int
		B []string
		C map[int]*deep
		D func()
		E any
	}
)

func (w *way[T]) NotCarried() {}

func (l listed) Carry(h *Handles) {
	for _, b := range l.Items {
		h.Add(b.Handle)
	}
}

func (l *byPointer) Carry(h *Handles) {
	for _, b := range l.Items {
		h.Add(b.Handle)
	}
}

func planFor[T any]() (Plan, error) { return PlanOf[T]() }

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name                    string
		plan                    func() (Plan, error)
		fields                  int
		carries, device, listed bool
	}{
		{"a number", planFor[int], 0, false, false, false},
		{"a buffer", planFor[Buf[float32]], 1, true, true, false},
		{"a handle", planFor[Handle], 1, true, true, false},
		{"pinned memory", planFor[Host[float32]], 1, true, false, false},
		{"two in a struct", planFor[pair], 2, true, true, false},
		{"in structs in arrays", planFor[nested], 5, true, true, false},
		{"pinned ones in an array", planFor[[3]Host[uint8]], 3, true, false, false},
		{"an array of nothing", planFor[[0]Buf[uint8]], 0, false, false, false},
		{"plain things", planFor[plain], 0, false, false, false},
		{"a type that contains itself", planFor[deep], 0, false, false, false},
		{"beside ways to somebody", planFor[asking], 1, true, true, false},
		{"a way alone", planFor[*way[Buf[float32]]], 0, false, false, false},
		{"a lister", planFor[listed], 0, true, true, true},
		{"a lister by pointer", planFor[byPointer], 0, true, true, true},
		{"a pointer to a lister", planFor[*byPointer], 0, true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.plan()
			if err != nil {
				t.Fatal(err)
			}
			if len(p.offsets) != c.fields || p.Carries() != c.carries || p.Device() != c.device || p.Listed() != c.listed {
				t.Errorf("%d fields, carries %v, device memory %v, listed %v", len(p.offsets), p.Carries(), p.Device(), p.Listed())
			}
		})
	}
}

// Buffers that a hand-off would miss are an error that says what to do.
func TestPlanOfWhatHidesBuffers(t *testing.T) {
	for name, plan := range map[string]func() (Plan, error){
		"a slice":               planFor[[]Buf[float32]],
		"a pointer":             planFor[*Buf[float32]],
		"a map's values":        planFor[map[int]Buf[float32]],
		"a map's keys":          planFor[map[Buf[float32]]int],
		"in a struct":           planFor[hiding],
		"behind itself":         planFor[deepBuf],
		"a pointer to a struct": planFor[*pair],
		"a slice of pointers":   planFor[struct{ X []*pair }],
		"an array of slices":    planFor[[2][]Host[int8]],
	} {
		if _, err := plan(); err == nil || !strings.Contains(err.Error(), "Carry(*buffer.Handles)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := PlanFor(reflect.TypeFor[hiding]()); err == nil {
		t.Error("a type known at run time")
	}
}

// Fields finds the buffers in place, in their order, and leaves out zero ones; Ask
// has a lister list them.
func TestPlanFinds(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	a, err := New[float32](u, 1)
	r.ok(err)
	b, err := New[uint8](u, 1)
	r.ok(err)
	h, err := NewHost[int64](u, 1)
	r.ok(err)
	v := nested{P: [2]pair{{A: a}, {B: b}}}
	v.In.h = h
	p, err := PlanOf[nested]()
	r.ok(err)
	var hs Handles
	p.Fields(unsafe.Pointer(&v), &hs)
	if want := []Handle{a.Handle, b.Handle, h.Handle}; !reflect.DeepEqual(hs.list, want) {
		t.Errorf("found %v, want %v", hs.list, want)
	}
	if p.Ask(unsafe.Pointer(&v), &hs) {
		t.Error("it lists nothing itself")
	}

	hs.Reset()
	if hs.Len() != 0 {
		t.Error("a list that was emptied is not empty")
	}
	l, err := PlanOf[listed]()
	r.ok(err)
	items := listed{Items: []Buf[float32]{a, {}, a}}
	if !l.Ask(unsafe.Pointer(&items), &hs) || hs.Len() != 2 {
		t.Errorf("%d were listed", hs.Len())
	}
	m, err := PlanOf[byPointer]()
	r.ok(err)
	hs.Reset()
	named := byPointer{Items: map[string]Buf[uint8]{"b": b}}
	if !m.Ask(unsafe.Pointer(&named), &hs) || hs.Len() != 1 {
		t.Errorf("%d were listed", hs.Len())
	}
	byAddress, err := PlanOf[*byPointer]()
	r.ok(err)
	hs.Reset()
	at, none := &named, (*byPointer)(nil)
	if !byAddress.Ask(unsafe.Pointer(&at), &hs) || !byAddress.Ask(unsafe.Pointer(&none), &hs) || hs.Len() != 1 {
		t.Errorf("%d were listed", hs.Len())
	}
}
