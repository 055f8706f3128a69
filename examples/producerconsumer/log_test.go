package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestLogIsSaid(t *testing.T) {
	var said []string
	log := newLog(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	log.Debug("a detail")
	log.Info("it runs")
	log.With("device", 1).Warn("100%", slog.String("because", "of this"))
	if got := strings.Join(said, "|"); got != "it runs|100% (device: 1, because: of this)" {
		t.Errorf("got %q", got)
	}
}
