package actor

import (
	"context"
	"log/slog"
)

// quiet passes on protoactor's warnings and errors only: at INFO it reports every
// failure that supervision then decides, and its own start.
type quiet struct{ slog.Handler }

// Enabled is part of slog.Handler.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// WithAttrs is part of slog.Handler.
func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }

// WithGroup is part of slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
