package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/session"
)

// TestInterruptionSaysWhatIsLeft checks that nobody reads "nothing is left in the JVM" while
// the JVM is still restoring its classes.
func TestInterruptionSaysWhatIsLeft(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	const clean = "nothing is left in the JVM"
	restoring := &session.NotRestoredError{PID: 4711, Cause: errors.New("it has restored no class for 1m0s")}
	for name, tt := range map[string]struct {
		ctx    context.Context
		err    error
		want   string
		claims bool
	}{
		"restored":        {interrupted, context.Canceled, "interrupted before the hooks were in", true},
		"still restoring": {interrupted, errors.Join(context.Canceled, restoring), "sonde status 4711", false},
		"not interrupted": {t.Context(), errors.New("no room"), "no room", false},
	} {
		got := interruption(tt.ctx, tt.err).Error()
		if !strings.Contains(got, tt.want) || strings.Contains(got, clean) != tt.claims || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q in it, and %q: %v", name, got, tt.want, clean, tt.claims)
		}
	}
}
