package cache

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Sharing says who besides their owner may read entries. Nobody may ever write them.
type Sharing int

// The kinds of sharing.
const (
	Private Sharing = iota
	WithGroup
	WithEveryone
)

// ParseSharing reads what a command line says.
func ParseSharing(text string) (Sharing, error) {
	switch text {
	case "", "private":
		return Private, nil
	case "group":
		return WithGroup, nil
	case "everyone":
		return WithEveryone, nil
	}
	return Private, fmt.Errorf("%q is none of private, group and everyone", text)
}

func (s Sharing) dirMode() fs.FileMode { return [...]fs.FileMode{0o700, 0o750, 0o755}[s] }

func (s Sharing) fileMode() fs.FileMode { return [...]fs.FileMode{0o600, 0o640, 0o644}[s] }

// trust is whose files are believed.
type trust struct {
	self   uint32
	others []uint32
}

func newTrust(others []uint32) trust {
	// Root can do anything in any case.
	return trust{uint32(os.Geteuid()), append([]uint32{0}, others...)}
}

// doubt says why something is not to be believed; "" where it is.
func (t *trust) doubt(stat *unix.Stat_t) string {
	switch {
	case stat.Uid != t.self && !slices.Contains(t.others, stat.Uid):
		return fmt.Sprintf("it is that of %s, not yours, %s", userName(stat.Uid), userName(t.self))
	case modeOf(stat)&0o022 != 0:
		return fmt.Sprintf("others may write to it: its mode is %04o", modeOf(stat)&0o7777)
	}
	return ""
}

// modeOf is a file's mode, of which systems have different types.
func modeOf(stat *unix.Stat_t) uint32 {
	return uint32(stat.Mode) //nolint:unconvert // on Linux it is one already
}

// userName is how people know a user.
func userName(uid uint32) string {
	number := strconv.Itoa(int(uid))
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "user " + number
}

// LookupUser finds the number of a user by name or number.
func LookupUser(name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(n), err
}
