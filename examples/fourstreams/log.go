package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// say prints a line on standard error, in the one form that this program has.
func say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "fourstreams: "+format+"\n", args...)
}

// sayer is a slog.Handler that says what it is given in that form too.
type sayer struct {
	stderr io.Writer
	attrs  []slog.Attr
}

// Enabled is part of slog.Handler.
func (h sayer) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle is part of slog.Handler.
func (h sayer) Handle(_ context.Context, r slog.Record) error {
	var attrs []string
	add := func(a slog.Attr) bool {
		attrs = append(attrs, fmt.Sprintf("%s: %v", a.Key, a.Value))
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	text := r.Message
	if len(attrs) > 0 {
		text += " (" + strings.Join(attrs, ", ") + ")"
	}
	say(h.stderr, "%s", text)
	return nil
}

// WithAttrs is part of slog.Handler.
func (h sayer) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

// WithGroup is part of slog.Handler. There are few attributes here, and no need to
// tell apart whose they are.
func (h sayer) WithGroup(string) slog.Handler { return h }
