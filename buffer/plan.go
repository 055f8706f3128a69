package buffer

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Carrier is a value that lists the buffers it carries. A type that holds its
// buffers in plain fields or arrays needs no such method: they are found. One that
// holds them behind a slice, a map, a pointer or an interface has to say. Channels
// are no contents, and what is in them is not carried: Go's, and every type whose
// values or pointers have a method NotCarried(), as *actor.Chan has.
type Carrier interface {
	// Carry adds every buffer that the value holds. It is called while the value is
	// being sent, and must not block.
	Carry(*Handles)
}

// Handles is a list of buffers, to be reused.
type Handles struct{ list []Handle }

// Add appends buffers: h.Add(m.Data.Handle, m.Sum.Handle). Zero ones are left out.
func (h *Handles) Add(hs ...Handle) {
	for _, b := range hs {
		if b.x != nil {
			h.list = append(h.list, b)
		}
	}
}

// Reset empties the list. It need not be cleared: slots are kept for ever.
func (h *Handles) Reset() { h.list = h.list[:0] }

// Len is the number of buffers.
func (h *Handles) Len() int { return len(h.list) }

// Plan is how the buffers in a value of one type are found.
type Plan struct {
	offsets []uintptr
	carrier func(unsafe.Pointer, *Handles)
	device  bool // may carry device memory
}

// PlanOf works out the plan for T. It fails where T holds buffers that it neither
// lists nor has in plain fields: a hand-off would miss them.
func PlanOf[T any]() (Plan, error) {
	t := reflect.TypeFor[T]()
	if _, ok := any((*T)(nil)).(Carrier); ok {
		return Plan{device: true, carrier: func(p unsafe.Pointer, h *Handles) { any((*T)(p)).(Carrier).Carry(h) }}, nil
	}
	if t.Kind() == reflect.Pointer && t.Implements(carrierType) {
		return Plan{device: true, carrier: func(p unsafe.Pointer, h *Handles) {
			if *(*unsafe.Pointer)(p) != nil {
				any(*(*T)(p)).(Carrier).Carry(h)
			}
		}}, nil
	}
	return PlanFor(t)
}

// PlanFor is PlanOf for a type known when the program runs, which lists nothing.
func PlanFor(t reflect.Type) (Plan, error) {
	var p Plan
	err := p.walk(t, 0)
	return p, err
}

// Fields appends the buffers in the plain fields of the value at v, which it does
// not keep. It is for types that are no [Carrier].
func (p *Plan) Fields(v unsafe.Pointer, h *Handles) {
	for _, off := range p.offsets {
		if x := (*Handle)(unsafe.Add(v, off)); x.x != nil {
			h.list = append(h.list, *x)
		}
	}
}

// Ask has a value list its buffers where its type is a [Carrier]; it reports
// whether it is one.
func (p *Plan) Ask(v unsafe.Pointer, h *Handles) bool {
	if p.carrier == nil {
		return false
	}
	p.carrier(v, h)
	return true
}

// Listed reports whether the type is a [Carrier].
func (p *Plan) Listed() bool { return p.carrier != nil }

// Carries reports whether values may carry buffers at all.
func (p *Plan) Carries() bool { return p.carrier != nil || len(p.offsets) > 0 }

// Device reports whether values may carry device memory.
func (p *Plan) Device() bool { return p.device }

var (
	handleType  = reflect.TypeFor[Handle]()
	carrierType = reflect.TypeFor[Carrier]()
)

// hostMarker tells a Host from a Buf; see Host.
type hostMarker struct{}

var markerType = reflect.TypeFor[hostMarker]()

var notCarried = reflect.TypeFor[interface{ NotCarried() }]()

// isWay reports whether t is a way to somebody, and so no contents of a value: what
// goes through it is handed over there.
func isWay(t reflect.Type) bool {
	return t.Kind() == reflect.Chan || t.Implements(notCarried) || reflect.PointerTo(t).Implements(notCarried)
}

func (p *Plan) walk(t reflect.Type, off uintptr) error {
	if t == handleType {
		p.offsets = append(p.offsets, off)
		p.device = true
		return nil
	}
	if isWay(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if isHost(t) {
			p.offsets = append(p.offsets, off)
			return nil
		}
		for f := range t.Fields() {
			if err := p.walk(f.Type, off+f.Offset); err != nil {
				return err
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			if err := p.walk(t.Elem(), off+uintptr(i)*t.Elem().Size()); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Pointer, reflect.Map:
		if hides(t, nil) {
			return fmt.Errorf("buffer: %v holds buffers behind a %v: give the type that holds it a method Carry(*buffer.Handles) that lists them", t, t.Kind())
		}
	}
	return nil
}

func isHost(t reflect.Type) bool {
	return t.NumField() > 1 && t.Field(0).Type == handleType && t.Field(1).Type == markerType
}

// hides reports whether buffers can be reached through t.
func hides(t reflect.Type, seen []reflect.Type) bool {
	for _, s := range seen {
		if s == t {
			return false
		}
	}
	if t == handleType {
		return true
	}
	if isWay(t) {
		return false
	}
	seen = append(seen, t)
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if hides(f.Type, seen) {
				return true
			}
		}
	case reflect.Map:
		return hides(t.Key(), seen) || hides(t.Elem(), seen)
	case reflect.Array, reflect.Slice, reflect.Pointer:
		return hides(t.Elem(), seen)
	}
	return false
}
