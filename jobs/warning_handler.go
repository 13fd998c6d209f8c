package jobs

import (
	"log/slog"
)

// warningHandler drops River's info logs because jobLogger logs each attempt once.
type warningHandler struct{ slog.Handler }

// WithAttrs keeps the level limit.
func (w warningHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningHandler{w.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the level limit.
func (w warningHandler) WithGroup(name string) slog.Handler {
	return warningHandler{w.Handler.WithGroup(name)}
}
