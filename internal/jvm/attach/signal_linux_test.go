package attach

import (
	"errors"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// openCounting is Open, telling how many signals were sent.
func openCounting(t *testing.T, pid int) (signals int, err error) {
	t.Helper()
	jvm, err := preflight(process.Local, pid)
	if err != nil {
		return 0, err
	}
	l, err := newLive(process.Local, jvm)
	if err != nil {
		return 0, err
	}
	send := l.signal
	l.signal = func() error {
		signals++
		return send()
	}
	c, err := open(t.Context(), jvm, l)
	if err == nil {
		c.Close()
	}
	return signals, err
}

// A JVM is signalled once in its life: from then on it listens.
func TestOneSignal(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		for i, want := range []int{1, 0, 0} {
			if signals, err := openCounting(t, jvm.PID); err != nil || signals != want {
				t.Errorf("time %d: %d signals, %v", i+1, signals, err)
			}
		}
	})
}

// What could not make its socket anyway is not signalled, nor what dies of it.
func TestNoSignalInVain(t *testing.T) {
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		reduced := start(t, jdk, nil, "-Xrs")
		if signals, err := openCounting(t, reduced.PID); err != nil || signals != 0 {
			t.Errorf("-Xrs: %d signals, %v", signals, err)
		}
		outer := start(t, jdk, jvmtest.OtherNamespaces(t, "ro"))
		if signals, err := openCounting(t, outer.Child(t)); !errors.Is(err, ErrReadOnlyTmp) || signals != 0 {
			t.Errorf("read-only /tmp: %d signals, %v", signals, err)
		}
	})
}
