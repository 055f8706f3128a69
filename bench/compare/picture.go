package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// The picture's measures, in its own units.
const (
	width     = 1500
	barLeft   = 250
	barWidth  = 480
	rowHeight = 18
	caseGap   = 34
)

// picture draws each case as bars, one for each side, with the spread of the rounds
// as a line across its end. The bars of a case have one scale, those of two cases
// do not.
func picture(rep report) []byte {
	var b bytes.Buffer
	y := 50
	for i, e := range rep.Cases {
		if e.first && len(e.Sides) > 0 {
			y = drawCase(&b, y, rep.Cases[i:])
		}
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, y+20)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	met, all := tally(rep)
	text(&svg, 16, 26, `font-size="15" font-weight="bold"`, fmt.Sprintf("%s, driver %s, %s, commit %s: %d of %d goals met", rep.GPU, rep.Driver, rep.Date, rep.Commit, met, all))
	svg.Write(b.Bytes())
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

func drawCase(b *bytes.Buffer, y int, entries []entry) int {
	e := entries[0]
	largest := 0.0
	for _, s := range e.Sides {
		largest = max(largest, s.Max)
	}
	if largest == 0 {
		largest = 1
	}
	better := "less is better"
	for _, s := range e.Sides {
		if !lower(s.Unit) {
			better = "more is better"
		}
	}
	y += caseGap - rowHeight
	text(b, 16, y, `font-weight="bold"`, e.Case+": "+e.Title+" ("+better+")")
	y += 6
	for _, side := range e.order {
		s, ok := e.Sides[side]
		if !ok {
			continue
		}
		at := func(v float64) float64 { return barLeft + v/largest*barWidth }
		mid := float64(y) + rowHeight/2
		text(b, 28, y+13, "", side)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", barLeft, y+2, at(s.Median)-barLeft, rowHeight-4, colour(side))
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6" stroke="#222" fill="none"/>`+"\n", at(s.Min), mid, at(s.Max), at(s.Min), mid-3, at(s.Max), mid-3)
		text(b, barLeft+barWidth+10, y+13, "", quantity(s.Median, s.Unit)+judged(entries, side))
		y += rowHeight
	}
	return y
}

// judged are the verdicts on a side.
func judged(entries []entry, side string) string {
	var all []string
	for i := 0; i < len(entries) && (i == 0 || !entries[i].first); i++ {
		if g := entries[i]; g.us == side && g.Met != nil {
			ratio, met := g.verdict()
			all = append(all, fmt.Sprintf("%s %s (%s)", ratio, met, g.Goal))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "   " + strings.Join(all, "; ")
}

func colour(side string) string {
	switch kind, _, _ := strings.Cut(side, "-"); kind {
	case "c":
		return "#9aa5b1"
	case "torch", "stock":
		return "#d9a05b"
	}
	return "#2f7fb8"
}

func text(b *bytes.Buffer, x, y int, attr, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attr, html.EscapeString(s))
}
