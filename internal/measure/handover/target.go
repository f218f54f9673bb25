package handover

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Target is a JVM: its process, and when that started, in clock ticks since the boot.
type Target struct {
	PID   int
	Start uint64
}

const (
	socketPrefix = "jvm-"
	socketSuffix = ".sock"
	// longestPath is what the kernel takes for the path of a socket, with a margin.
	longestPath = 100
)

func (t Target) socket() string {
	return fmt.Sprintf("%s%d-%d%s", socketPrefix, t.PID, t.Start, socketSuffix)
}

func isSocket(name string) bool {
	return strings.HasPrefix(name, socketPrefix) && strings.HasSuffix(name, socketSuffix)
}

// Places are where sockets may be.
type Places struct {
	Runtime string // as XDG_RUNTIME_DIR says; may be empty
	Users   string // where the runtime directories of users are, by number
	Temp    string
}

// Usual is where they are on this host; the argument is what XDG_RUNTIME_DIR says.
func Usual(runtime string) Places {
	return Places{Runtime: runtime, Users: "/run/user", Temp: "/tmp"}
}

// toListen are directories to listen in, best first. The runtime directory itself
// must be there already, and be the user's.
func (p Places) toListen(uid uint32) []string {
	var dirs []string
	if filepath.IsAbs(p.Runtime) && ownedBy(p.Runtime, uid) {
		dirs = append(dirs, filepath.Join(p.Runtime, "sonde"))
	}
	return append(dirs, p.temporary(uid))
}

// toAsk are directories to look for a user's sockets in. Commands of one user may have
// been told different runtime directories, or none.
func (p Places) toAsk(uid uint32) []string {
	dirs := []string{p.temporary(uid)}
	if p.Users != "" {
		dirs = append(dirs, filepath.Join(p.Users, number(uid), "sonde"))
	}
	if filepath.IsAbs(p.Runtime) {
		dirs = append(dirs, filepath.Join(p.Runtime, "sonde"))
	}
	return dirs
}

func (p Places) temporary(uid uint32) string { return filepath.Join(p.Temp, "sonde-"+number(uid)) }

func number(uid uint32) string { return strconv.FormatUint(uint64(uid), 10) }
