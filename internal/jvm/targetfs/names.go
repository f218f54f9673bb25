package targetfs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
