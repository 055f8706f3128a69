package main

import (
	"fmt"
	"go/types"
)

// exported describes everything that p exports, in no order.
func exported(p *types.Package) []string {
	d := describer{p}
	var lines []string
	for _, name := range p.Scope().Names() {
		if obj := p.Scope().Lookup(name); obj.Exported() {
			lines = append(lines, d.object(obj)...)
		}
	}
	return lines
}

// describer writes types as a reader of the package would: its own names bare,
// others with their package's name.
type describer struct{ pkg *types.Package }

func (d describer) qualify(p *types.Package) string {
	if p == d.pkg {
		return ""
	}
	return p.Name()
}

func (d describer) typ(t types.Type) string { return types.TypeString(t, d.qualify) }

func (d describer) object(obj types.Object) []string {
	switch obj := obj.(type) {
	case *types.Const:
		typ := ""
		if b, ok := obj.Type().(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			typ = " " + d.typ(obj.Type())
		}
		return []string{fmt.Sprintf("const %s%s = %s", obj.Name(), typ, obj.Val().ExactString())}
	case *types.TypeName:
		return d.typeName(obj)
	}
	return []string{types.ObjectString(obj, d.qualify)}
}

func (d describer) typeName(obj *types.TypeName) []string {
	named, ok := obj.Type().(*types.Named)
	if obj.IsAlias() || !ok {
		return []string{types.ObjectString(obj, d.qualify)}
	}
	head := "type " + obj.Name() + d.params(named)
	var lines []string
	switch u := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for f := range u.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("%s struct, %s%s %s", head, embedded(f), f.Name(), d.typ(f.Type())))
			}
		}
	case *types.Interface:
		lines = append(lines, d.iface(head, u)...)
	default:
		lines = append(lines, head+" "+d.typ(u))
	}
	for m := range named.Methods() {
		if m.Exported() {
			lines = append(lines, types.ObjectString(m, d.qualify))
		}
	}
	return lines
}

func (d describer) params(named *types.Named) string {
	s := ""
	for p := range named.TypeParams().TypeParams() {
		if s != "" {
			s += ", "
		}
		s += p.Obj().Name() + " " + d.typ(p.Constraint())
	}
	if s == "" {
		return ""
	}
	return "[" + s + "]"
}

// iface gives each method a line of its own; a constraint's union stays whole.
// An unexported method is shown, since nobody else can implement the interface.
func (d describer) iface(head string, u *types.Interface) []string {
	if !u.IsMethodSet() {
		return []string{head + " " + d.typ(u)}
	}
	lines := []string{head + " interface"}
	closed := false
	for m := range u.Methods() {
		if !m.Exported() {
			closed = true
			continue
		}
		sig := d.typ(m.Type())
		lines = append(lines, fmt.Sprintf("%s interface, %s%s", head, m.Name(), sig[len("func"):]))
	}
	if closed {
		lines = append(lines, head+" interface, unexported methods")
	}
	return lines
}

func embedded(f *types.Var) string {
	if f.Embedded() {
		return "embedded "
	}
	return ""
}
