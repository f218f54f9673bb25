package targetfs

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Found is what of ours is in a process.
type Found struct {
	Arenas  []string // mapped, by the paths /proc gives; the files may be gone
	Standby bool     // an agent that came with -javaagent waits to be invited
}

// Find looks again at what of ours is in a JVM.
func Find(jvm *process.JVM) (Found, error) {
	now, err := process.Local.Inspect(jvm.PID)
	if err != nil {
		return Found{}, err
	}
	if !process.Local.Same(jvm) {
		return Found{}, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists those there are"}
	}
	if now.Inside == process.PresenceUnknown {
		return Found{}, &Error{PID: jvm.PID, Kind: ErrPermission, Detail: fmt.Sprintf("%s to look into it", now.Access())}
	}
	return Found{Arenas: now.Arenas, Standby: HasStandby(jvm)}, nil
}

// HasStandby tells whether an agent that was put into the JVM with -javaagent
// waits to be invited.
func HasStandby(jvm *process.JVM) bool {
	return process.Local.Waits(jvm)
}
