package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// whoWaited says for each stream whom it waited for, and what ran beside it.
func whoWaited(events []event, edges []edge, columns int) string {
	var b strings.Builder
	for _, s := range streams {
		waits := slices.DeleteFunc(slices.Clone(edges), func(e edge) bool { return e.To != s })
		if len(waits) == 0 {
			fmt.Fprintf(&b, "%s waited for nobody\n", s)
		}
		for i, e := range waits {
			who := s + " waited for"
			if i > 0 {
				who = fmt.Sprintf("%*sand for", labelWidth, "")
			}
			fmt.Fprintf(&b, "%s %s: %q came after %q\n", who, e.From, e.Before, e.After)
			b.WriteString(wrap(labelWidth, strings.Fields("("+e.Why+")"), columns))
		}
		if !slices.Contains(related, s) {
			b.WriteString(wrap(labelWidth, append([]string{"beside it ran:"}, list(beside(events, s))...), columns))
		}
	}
	return b.String()
}

// list joins what it is given by commas, for wrap to break behind them.
func list(items []string) []string {
	list := slices.Clone(items)
	for i := range list[:max(len(list)-1, 0)] {
		list[i] += ","
	}
	return list
}

// wrap writes pieces of text behind one another, indented, in lines that fit.
func wrap(indent int, pieces []string, columns int) string {
	var b strings.Builder
	at := 0
	for _, p := range pieces {
		n := utf8.RuneCountInString(p)
		switch {
		case at == 0:
			fmt.Fprintf(&b, "%*s", indent, "")
			at = indent
		case at+1+n > labelWidth+columns:
			fmt.Fprintf(&b, "\n%*s", indent, "")
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(p)
		at += n
	}
	return b.String() + "\n"
}

// clockText says on which clock the times are, and their error.
func (r *report) clockText(columns int) string {
	text := fmt.Sprintf("clock: %s, read by each kernel when it begins and when it ends; its step is %v. "+
		"The times of the two GPUs compare to within %v (each was compared with the host's clock). "+
		"Those of the copy are of two timed events around it; they compare with its GPU's to within %v.",
		r.Clock.Source, time.Duration(r.Clock.Step), time.Duration(r.deviceError), time.Duration(r.copyError))
	return wrap(0, strings.Fields(text), columns)
}
