package main

import (
	"strings"
	"testing"
)

func TestGantt(t *testing.T) {
	events := []event{
		{gpu1s1, eventPrepare, 0, 300_000}, {gpu1s1, eventUse, 600_000, 900_000},
		{gpu1s2, eventOwn, 100_000, 130_000},
		{gpu2s1, eventFill, 0, 400_000}, {gpu2s1, eventCopy, 400_000, 401_000},
		{gpu2s2, "gpu2s2 busy 1", 899_999, 900_000},
	}
	edges := []edge{{gpu2s1, gpu1s1, eventCopy, eventUse, ""}}
	want := strings.Join([]string{
		"ms      0         0.1       0.2       0.3       0.4       0.5       0.6       0.7       0.8",
		"gpu1s1  [prepare=====================]..............................[use=========================]",
		"gpu1s2            [o]",
		"gpu2s1  [fill==================================]|",
		"gpu2s2                                                                                           |",
		"        [name===] ran     .... waited for another stream",
		"",
	}, "\n")
	if got := gantt(events, edges, 90); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRound125(t *testing.T) {
	for last, want := range map[int64]int64{1: 1, 10: 1, 11: 2, 21: 2, 22: 5, 54: 5, 55: 10, 12_800_000: 2_000_000} {
		if got := round125(last, 10); got != want {
			t.Errorf("%d: %d, want %d", last, got, want)
		}
	}
}
