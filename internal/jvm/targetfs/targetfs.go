// Package foothold is everything Sonde places into a target's file system, and
// its removal.
//
//	/tmp/.sonde-<pid>-<random>/       0700  one session's
//	    session                       0600  what the agent is told (docs/formats/control.md)
//	    socket                        0600  where it dials
//	/tmp/.sonde-<uid>/                0700  shared by the sessions of a user
//	    agent-<hash>.jar             01600  stays while a JVM lives that has loaded it
//	    used-<pid>                   01600  says that this one has
//	/dev/shm/sonde-<pid>-<random>.arena     what is measured
//	/tmp/.sonde_pid<pid>, .sonde_invite<pid>  an agent that waits, and its invitation
//	/tmp/.sonde_hold<pid>                     while an agent holds its program at the start
//
// <pid> is the target's number as it sees itself. Places are the target's own,
// in its mount namespace, reached by handles of directories: no path is walked
// twice, and no symbolic link that a user could have put there is followed. All
// is made with the identity of the target's user, so root does nothing there
// that this user could not do, and verified by what the handle says.
//
// A JVM keeps the path of an agent's jar on its class path, with a file open for
// each distinct path, so that path is the same at every attach.
//
// What is in use is locked (flock), which a killed Sonde can do nothing about:
// what is ours and not locked is left over, and Sweep takes it away.
package targetfs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// What can be in the way. Each text is the first half of an error's line; the
// rest is the remedy.
var (
	ErrPermission = errors.New("it is another user's")
	ErrGone       = errors.New("it ended meanwhile")
	ErrReadOnly   = errors.New("its user can write to no directory of its own")
	ErrUnsafe     = errors.New("others could change what Sonde puts there")
	ErrFull       = errors.New("its file system is full")
	ErrNetwork    = errors.New("its loopback cannot be listened on")
	ErrNoStandby  = errors.New("no agent waits in it")
	ErrNotTaken   = errors.New("its agent did not take the invitation")
	ErrFiles      = errors.New("files for its agent cannot be made")
	ErrLeft       = errors.New("something of Sonde's is left in its file system")
)

// An Error is one line: which process, what is in the way, what to do. It
// answers to one of the errors above.
type Error = process.Obstacle

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

// A Session is what an agent is told about the Sonde that calls it.
type Session struct {
	Jar    string // path, as the target sees it, of the jar with the control classes
	Socket string // path of Sonde's Unix socket, or "" for a port
	Port   int    // on the target's loopback
	Token  string // 32 hexadecimal digits, as Proof
	Proof  string
	Holder string // who asks, for a human
}

// encode writes a session as java.util.Properties reads it.
func (s Session) encode() ([]byte, error) {
	switch {
	case (s.Socket == "") == (s.Port == 0):
		return nil, fmt.Errorf("it needs a socket or a port")
	case s.Port < 0 || s.Port > 65535:
		return nil, fmt.Errorf("port %d is none", s.Port)
	case s.Jar == "":
		return nil, fmt.Errorf("it needs a jar")
	case !isSecret(s.Token) || !isSecret(s.Proof):
		return nil, fmt.Errorf("token and proof must be 32 hexadecimal digits")
	}
	var text strings.Builder
	line := func(key, value string) {
		text.WriteString(key + "=")
		escape(&text, value)
		text.WriteByte('\n')
	}
	line("jar", s.Jar)
	if s.Socket != "" {
		line("socket", s.Socket)
	} else {
		line("port", strconv.Itoa(s.Port))
	}
	line("token", s.Token)
	line("proof", s.Proof)
	line("holder", s.Holder)
	return []byte(text.String()), nil
}

// escape writes a value in ASCII. White space at a value's beginning would be
// lost, and a line's end would end it; escaping each is simplest.
func escape(text *strings.Builder, value string) {
	for _, unit := range utf16.Encode([]rune(value)) {
		switch {
		case unit == '\\':
			text.WriteString(`\\`)
		case unit > ' ' && unit < 0x7f:
			text.WriteByte(byte(unit))
		default:
			fmt.Fprintf(text, `\u%04x`, unit)
		}
	}
}

// Names inside directories of ours.
const (
	sessionName = "session"
	socketName  = "socket"
	madeName    = "arena" // while the agent makes it, as the next
	writtenName = "note"
)

// What of ours can lie around, by its name; the number is a process's as it
// sees itself, or in jarDirectory a user's.
var (
	sessionDirectory = regexp.MustCompile(`^\.sonde-([0-9]{1,10})-[0-9a-f]{8}$`)
	jarDirectory     = regexp.MustCompile(`^\.sonde-([0-9]{1,10})$`)
	jarName          = regexp.MustCompile(`^agent-[0-9a-f]{16}\.jar$`)
	markName         = regexp.MustCompile(`^used-([0-9]{1,10})$`) // beside a jar, by a process that has loaded it
	freshName        = regexp.MustCompile(`^\.new-[0-9a-f]{16}$`)
	invitationName   = regexp.MustCompile(`^\.sonde_invite([0-9]{1,10})(?:-[0-9a-f]{8})?$`)
	noteName         = regexp.MustCompile(`^\.sonde_(?:pid|hold|pack)([0-9]{1,10})$`)
	noteDirectory    = regexp.MustCompile(`^\.sonde_(?:pid|hold|pack)([0-9]{1,10})-[0-9a-f]{32}$`) // in which the agent writes one
	packDirectory    = regexp.MustCompile(`^\.sonde_arena([0-9]{1,10})-[0-9a-f]{26}$`)             // in which the agent of a pack makes its arena
	arenaName        = regexp.MustCompile(`^sonde-([0-9]{1,10})-[0-9a-f]{16}\.arena$`)
)

// isInner tells names of files that we make in directories of ours.
func isInner(name string) bool {
	return name == sessionName || name == socketName || name == madeName || name == writtenName || jarName.MatchString(name) || markName.MatchString(name) || freshName.MatchString(name)
}

func invitation(namespacePID int) string { return ".sonde_invite" + strconv.Itoa(namespacePID) }

func markFor(namespacePID int) string { return "used-" + strconv.Itoa(namespacePID) }

func holdFile(namespacePID int) string { return ".sonde_hold" + strconv.Itoa(namespacePID) }

// jarFor names a jar by its content, so each build has a path of its own.
func jarFor(content []byte) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("agent-%x.jar", sum[:8])
}

// random is so many hexadecimal digits nobody can guess.
func random(digits int) string {
	raw := make([]byte, digits/2)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

func isSecret(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}
