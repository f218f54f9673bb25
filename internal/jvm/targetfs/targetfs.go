// Package targetfs places Sonde's files into a target's file system, and removes them.
//
//	/tmp/.sonde-<pid>-<random>/       0700  files of one session
//	    session                       0600  the description of the session (docs/formats/control.md)
//	    socket                        0600  the socket to which the agent connects
//	/tmp/.sonde-<uid>/                0700  shared by the sessions of a user
//	    agent-<hash>.jar             01600  stays while a JVM that has loaded it is running
//	    used-<pid>                   01600  records that JVM <pid> has loaded the jar
//	/dev/shm/sonde-<pid>-<random>.arena     the arena
//	/tmp/.sonde_pid<pid>                    created by an agent that waits for Sonde; contains its ticket, a random number
//	/tmp/.sonde_invite<pid>                 created by Sonde: where this agent connects (an invitation)
//	/tmp/.sonde_hold<pid>                   exists while an agent delays the start of its program
//
// <pid> is the target's PID in its own namespace. Directories are those of the target's mount
// namespace, opened relative to directory file descriptors: no path is resolved twice, and no
// symbolic link that a user could have created is followed. All files are created as the target's
// user, so that root does nothing there that this user could not do. Sonde opens these files
// without blocking, then checks through the file descriptor that each is a plain file of the right
// user, with a single hard link and without access for others. Programs that clean /tmp skip files
// with the sticky bit (01600).
//
// A JVM keeps each path of an agent's jar on its class path, with an open file. So Sonde uses the same path at
// every attach.
//
// Files that a running Sonde uses are locked (flock); the kernel releases the locks of a killed
// Sonde. Sweep removes files that are not locked and that no running JVM uses.
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

// The kinds of errors. Each text is the beginning of an error's line; the remedy follows.
var (
	ErrPermission = errors.New("it belongs to another user")
	ErrGone       = errors.New("it has ended")
	ErrReadOnly   = errors.New("its user cannot create files")
	ErrUnsafe     = errors.New("other users could change the files that Sonde creates")
	ErrFull       = errors.New("no space is left")
	ErrNetwork    = errors.New("the loopback address of its network cannot be used")
	ErrNoStandby  = errors.New("no agent is waiting in it")
	ErrNotTaken   = errors.New("the waiting agent did not answer")
	ErrFiles      = errors.New("Sonde's files cannot be created")    //nolint:staticcheck // Sonde is a name
	ErrLeft       = errors.New("Sonde's files could not be removed") //nolint:staticcheck // Sonde is a name
)

// An Error is one line: the process, the problem and the remedy. It wraps one of the errors above.
type Error = process.Obstacle

// A Found lists what Sonde has in a process.
type Found struct {
	Arenas  []string // mapped arenas, by their paths in /proc; the files may be gone
	Standby bool     // an agent loaded with -javaagent waits for an invitation
}

// Find inspects a JVM again for arenas and a waiting agent.
func Find(jvm *process.JVM) (Found, error) {
	now, err := process.Local.Inspect(jvm.PID)
	if err != nil {
		return Found{}, err
	}
	if !process.Local.Same(jvm) {
		return Found{}, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists the running JVMs"}
	}
	if now.Inside == process.PresenceUnknown {
		return Found{}, &Error{PID: jvm.PID, Kind: ErrPermission, Detail: fmt.Sprintf("%s to inspect it", now.Access())}
	}
	return Found{Arenas: now.Arenas, Standby: process.Local.Waits(jvm)}, nil
}

// A Session describes a session to an agent.
type Session struct {
	Jar    string // path, as the target sees it, of the jar with the control classes
	Socket string // path of Sonde's Unix socket, or "" for a port
	Port   int    // on the target's loopback
	Token  string // 32 hexadecimal digits, as Proof
	Proof  string
	Holder string // the command that holds the JVM, for users
	Beside bool   // its hook classes have other names than the hook classes of a pack
}

// encode formats a session for java.util.Properties.
func (s Session) encode() ([]byte, error) {
	switch {
	case (s.Socket == "") == (s.Port == 0):
		return nil, fmt.Errorf("a session needs either a socket or a port")
	case s.Port < 0 || s.Port > 65535:
		return nil, fmt.Errorf("%d is not a port", s.Port)
	case s.Jar == "":
		return nil, fmt.Errorf("a session needs a jar")
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
	if s.Beside {
		line("beside", "pack")
	}
	return []byte(text.String()), nil
}

// escape writes a value in ASCII. White space at the beginning of a value would be lost, and a line break would
// end it, so both are escaped everywhere.
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

// Names in Sonde's directories.
const (
	roomName    = ".room" // while it is tried out whether there is room
	sessionName = "session"
	socketName  = "socket"
	madeName    = "arena" // while the agent creates it, like the next
	writtenName = "note"
)

// The names of Sonde's files. The number is a PID in its own namespace, or in jarDirectory a user.
var (
	sessionDirectory = regexp.MustCompile(`^\.sonde-([0-9]{1,10})-[0-9a-f]{8}$`)
	jarDirectory     = regexp.MustCompile(`^\.sonde-([0-9]{1,10})$`)
	jarName          = regexp.MustCompile(`^agent-[0-9a-f]{16}\.jar$`)
	markName         = regexp.MustCompile(`^used-([0-9]{1,10})$`) // next to a jar, marks a process that has loaded it
	freshName        = regexp.MustCompile(`^\.new-[0-9a-f]{16}$`)
	invitationName   = regexp.MustCompile(`^\.sonde_invite([0-9]{1,10})(?:-[0-9a-f]{8})?$`)
	noteName         = regexp.MustCompile(`^\.sonde_(?:pid|hold|pack)([0-9]{1,10})$`)
	noteDirectory    = regexp.MustCompile(`^\.sonde_(?:pid|hold|pack)([0-9]{1,10})-[0-9a-f]{32}$`) // in which the agent writes one
	packDirectory    = regexp.MustCompile(`^\.sonde_arena([0-9]{1,10})-[0-9a-f]{26}$`)             // in which the agent of a pack makes its arena
	arenaName        = regexp.MustCompile(`^sonde-([0-9]{1,10})-[0-9a-f]{16}\.arena$`)
)

// isInner reports whether a name is that of a file in one of our directories.
func isInner(name string) bool {
	return name == roomName || name == sessionName || name == socketName || name == madeName || name == writtenName || jarName.MatchString(name) || markName.MatchString(name) || freshName.MatchString(name)
}

func invitation(namespacePID int) string { return ".sonde_invite" + strconv.Itoa(namespacePID) }

func markFor(namespacePID int) string { return "used-" + strconv.Itoa(namespacePID) }

func holdFile(namespacePID int) string { return ".sonde_hold" + strconv.Itoa(namespacePID) }

// jarFor returns the name of a jar, by its content, so that each build has a path of its own.
func jarFor(content []byte) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("agent-%x.jar", sum[:8])
}

// random returns hexadecimal digits that nobody can guess.
func random(digits int) string {
	raw := make([]byte, digits/2)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

func isSecret(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}
