package main

import (
	"bytes"
	"fmt"
	"html"
)

// The picture's measures, in its own units: two columns of cases, each with the
// sides' names, their bars, their values and the verdicts on them.
const (
	width     = 1640
	columnGap = 820
	margin    = 16
	head      = 76
	barLeft   = 150
	barWidth  = 270
	valueLeft = barLeft + barWidth + 10
	goalLeft  = valueLeft + 90
	rowHeight = 18
	caseHead  = 36 // the case's name and its title
	caseGap   = 16
)

// The colours of who is measured, and of what came of a goal.
const (
	ourColour    = "#2f7fb8"
	cColour      = "#9aa5b1"
	otherColour  = "#d9a05b"
	metColour    = "#1b7a35"
	missedColour = "#c0241c"
	quietColour  = "#555"
)

// picture draws each case as bars, one for each side, with the spread of the rounds
// as a line across its end. The bars of a case have one scale, those of two cases
// do not.
func picture(rep report) []byte {
	var b bytes.Buffer
	y, deepest, x := head, head, margin
	rest := 0
	for _, e := range rep.Cases {
		rest += e.height()
	}
	half := head + (rest+1)/2
	for _, e := range rep.Cases {
		if x == margin && y >= half {
			x, y = margin+columnGap, head
		}
		if len(e.Sides) > 0 {
			e.draw(&b, x, y)
			y += e.height()
			deepest = max(deepest, y)
		}
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, deepest)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	text(&svg, margin, 26, `font-size="15" font-weight="bold"`, fmt.Sprintf("%s, driver %s, %s, commit %s: %s", rep.GPU, rep.Driver, rep.Date, rep.Commit, rep.summary()))
	legend(&svg)
	svg.Write(b.Bytes())
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

// legend says what is what.
func legend(b *bytes.Buffer) {
	x := margin
	for _, of := range []struct{ colour, name string }{{ourColour, "gpuactor"}, {cColour, "C"}, {otherColour, "PyTorch, protoactor"}} {
		fmt.Fprintf(b, `<rect x="%d" y="40" width="12" height="12" fill="%s"/>`+"\n", x, of.colour)
		text(b, x+18, 50, "", of.name)
		x += 40 + 7*len(of.name)
	}
	text(b, x, 50, `fill="`+quietColour+`"`, "bar: median of the rounds; line: smallest to largest; ✓ met, ✗ not met: ratio by round, and the goal")
}

// height is how much of a column the case takes; nothing where nobody has a value.
func (e entry) height() int {
	if len(e.Sides) == 0 {
		return 0
	}
	h := caseHead + caseGap
	for _, side := range e.order {
		if _, ok := e.Sides[side]; ok {
			h += rowHeight * max(len(e.judged(side)), 1)
		}
	}
	return h
}

func (e entry) draw(b *bytes.Buffer, x, y int) {
	largest := 0.0
	better := "less is better"
	for _, s := range e.Sides {
		largest = max(largest, s.Max)
		if !lower(s.Unit) {
			better = "more is better"
		}
	}
	if largest == 0 {
		largest = 1
	}
	text(b, x, y+12, `font-weight="bold" font-size="13"`, e.Case)
	text(b, x, y+28, `fill="`+quietColour+`"`, e.Title+" ("+better+")")
	y += caseHead
	for _, side := range e.order {
		s, ok := e.Sides[side]
		if !ok {
			continue
		}
		at := func(v float64) float64 { return float64(x) + barLeft + v/largest*barWidth }
		mid := float64(y) + rowHeight/2
		text(b, x+12, y+13, "", side)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x+barLeft, y+2, s.Median/largest*barWidth, rowHeight-4, colour(side))
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6" stroke="#222" fill="none"/>`+"\n", at(s.Min), mid, at(s.Max), at(s.Min), mid-3, at(s.Max), mid-3)
		text(b, x+valueLeft, y+13, "", quantity(s.Median, s.Unit))
		goals := e.judged(side)
		for i, g := range goals {
			g.draw(b, x+goalLeft, y+13+i*rowHeight)
		}
		y += rowHeight * max(len(goals), 1)
	}
}

// judged are the verdicts on a side.
func (e entry) judged(side string) (all []verdict) {
	for _, g := range e.Goals {
		if g.Side == side && g.Met != nil {
			all = append(all, g)
		}
	}
	return all
}

func (v verdict) draw(b *bytes.Buffer, x, y int) {
	mark, fill := "✓", metColour
	if !*v.Met {
		mark, fill = "✗", missedColour
	}
	ratio, _ := v.text()
	text(b, x, y, `fill="`+fill+`" font-weight="bold"`, mark+" "+ratio)
	text(b, x+66, y, "", v.Goal)
}

func colour(side string) string {
	switch name, _ := command("", side, false); {
	case name == "baseline":
		return cColour
	case name == "torch", side == "stock":
		return otherColour
	}
	return ourColour
}

func text(b *bytes.Buffer, x, y int, attr, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attr, html.EscapeString(s))
}
