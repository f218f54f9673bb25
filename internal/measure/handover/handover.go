// Package handover lets one Sonde ask another that holds a JVM: what it wants of it, to
// want something else, and to end.
//
// The Sonde that holds a JVM listens at a Unix socket in a directory of its own user,
// mode 0700: $XDG_RUNTIME_DIR/sonde where there is such, else /tmp/sonde-UID. The
// socket's name says which JVM: jvm-PID-START.sock, with the start of the process in
// clock ticks, so that it means one process for good. Who calls must be of the same
// user or root, by the word of the kernel; so must who is called.
//
// One call is one question and one answer, each a JSON object on a line, which is
// bounded in length, as is every wait:
//
//	{"sonde":1,"ask":"apply","probes":"version: 1\n…","dryRun":false}
//	{"sonde":1,"outcome":{"changes":[…],…}}
//	{"sonde":1,"ask":"save"}    {"sonde":1,"probes":"version: 1\n…"}
//	{"sonde":1,"ask":"status"}  {"sonde":1,"status":{…}}
//	{"sonde":1,"ask":"end"}     {"sonde":1}, once the JVM is left
//	anything else               {"sonde":1,"error":"…"}
package handover

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// protocol is the number of this conversation.
const protocol = 1

// Bounds of a line. A set has a megabyte at most, which JSON makes longer.
const (
	mostQuestion = 8 * probeset.MostBytes
	mostAnswer   = 16 << 20
)

// What can be asked.
const (
	askApply  = "apply"
	askSave   = "save"
	askStatus = "status"
	askEnd    = "end"
)

type question struct {
	Sonde  int    `json:"sonde"`
	Ask    string `json:"ask"`
	Probes string `json:"probes,omitempty"` // of apply: YAML
	DryRun bool   `json:"dryRun,omitempty"`
}

type answer struct {
	Sonde   int      `json:"sonde"`
	Error   string   `json:"error,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Probes  string   `json:"probes,omitempty"`
	Status  *Status  `json:"status,omitempty"`
}

// Outcome is what applying a set did, or would do.
type Outcome struct {
	Changes  []probeset.Change `json:"changes"`
	Woven    int               `json:"woven"`    // spots that are new in the JVM
	Removed  int               `json:"removed"`  // spots that were taken out
	Switched int               `json:"switched"` // spots that were switched, without weaving
	// Awaiting is how many classes have loaded that rules leave to the next sonde apply.
	Awaiting int      `json:"awaiting,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Status is what a Sonde that holds a JVM says of itself.
type Status struct {
	Sonde   int       `json:"sonde"` // its process
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Probes  []Running `json:"probes"`
}

// Running is what a probe that is applied has measured: of all its methods, in one of
// its sequences and with one label, where it has such.
type Running struct {
	Name   string `json:"name"`
	Level  string `json:"level,omitempty"` // none where it has ended
	Within string `json:"within,omitempty"`
	Label  string `json:"label,omitempty"` // tags with values, or callers
	Calls  uint64 `json:"calls"`
	// LowerBound says that HotSpot may replace one of its methods by an intrinsic, so that
	// calls may be missing.
	LowerBound bool    `json:"lowerBound,omitempty"`
	PerSecond  float64 `json:"callsPerSecond"`
	Timed      uint64  `json:"timed"`
	MeanNanos  float64 `json:"meanNanos,omitempty"`
	P99Nanos   float64 `json:"p99Nanos,omitempty"`
	Threw      uint64  `json:"exceptions,omitempty"`
	Undecided  uint64  `json:"undecided,omitempty"`
	Ended      string  `json:"ended,omitempty"` // why, where it has
}

var errTooLong = errors.New("longer than a line may be")

// readLine reads one object of at most so many bytes.
func readLine(from io.Reader, most int, into any) error {
	limited := &io.LimitedReader{R: from, N: int64(most) + 1}
	line, err := bufio.NewReader(limited).ReadBytes('\n')
	switch {
	case limited.N <= 0 && len(line) > most:
		return errTooLong
	case err != nil:
		return fmt.Errorf("reading: %w", err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return nil
}

func writeLine(to io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = to.Write(append(line, '\n'))
	return err
}

// ErrNone says that no Sonde answers for the JVM.
var ErrNone = errors.New("no sonde apply holds it")

// ErrUnheard says that the other Sonde took no part in the conversation that could be
// understood.
var ErrUnheard = errors.New("the Sonde that holds it does not answer as it should")

// errGone says that a directory was removed while its lock was waited for.
var errGone = errors.New("the directory is gone")

// HeldError says that another Sonde answers for the JVM already.
type HeldError struct{ Target Target }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another sonde apply holds process %d: sonde apply --end %d ends it", e.Target.PID, e.Target.PID)
}

// UnsafeError says that a directory cannot be trusted.
type UnsafeError struct{ Dir, Why string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s: remove it, or set XDG_RUNTIME_DIR to a directory of your own", e.Dir, e.Why)
}

// StrangerError says that somebody else is at the other end.
type StrangerError struct {
	PID int
	UID uint32
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("process %d of user %d is at the other end, neither of this user nor root", e.PID, e.UID)
}

// RefusedError is what the Sonde that holds the JVM says why it did not do it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

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

// Client asks the Sonde that holds a JVM.
type Client struct {
	path string
	uid  uint32 // whose Sonde it must be
}

// isDead tells a socket nobody listens at, or none at all, from one that is busy.
func isDead(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}

// Find looks for the Sonde that holds a JVM: one of this user; where this is root, one
// of the JVM's user, too. The error is [ErrNone] where there is none.
func Find(ctx context.Context, places Places, target Target, jvmUser uint32) (*Client, error) {
	users := []uint32{uint32(os.Geteuid())}
	if users[0] == 0 && jvmUser != 0 {
		users = append(users, jvmUser)
	}
	for _, uid := range users {
		for _, dir := range places.toAsk(uid) {
			path := filepath.Join(dir, target.socket())
			if len(path) > longestPath || checkPrivate(dir, uid) != nil {
				continue
			}
			if _, err := os.Lstat(path); err == nil && answers(ctx, path) {
				return &Client{path, uid}, nil
			}
		}
	}
	return nil, ErrNone
}

// Apply hands a set over. With dryRun it says what would change. Where it failed there
// may be an outcome nevertheless.
func (c *Client) Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*Outcome, error) {
	a, err := c.ask(ctx, question{Ask: askApply, Probes: string(set.YAML()), DryRun: dryRun}, answerPatience)
	if err != nil {
		if a != nil {
			return a.Outcome, err
		}
		return nil, err
	}
	if a.Outcome == nil {
		return nil, fmt.Errorf("%w: no outcome", ErrUnheard)
	}
	return a.Outcome, nil
}

// Save asks for the set that is applied.
func (c *Client) Save(ctx context.Context) (*probeset.Set, error) {
	a, err := c.ask(ctx, question{Ask: askSave}, answerPatience)
	if err != nil {
		return nil, err
	}
	set, err := probeset.Parse([]byte(a.Probes), "probes")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnheard, err)
	}
	return set, nil
}

// Status asks how it goes.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	a, err := c.ask(ctx, question{Ask: askStatus}, answerPatience)
	if err != nil {
		return nil, err
	}
	if a.Status == nil {
		return nil, fmt.Errorf("%w: no status", ErrUnheard)
	}
	return a.Status, nil
}

// End has it leave the JVM, and waits until it has.
func (c *Client) End(ctx context.Context) error {
	_, err := c.ask(ctx, question{Ask: askEnd}, endPatience+askPatience)
	return err
}

// ask has one conversation.
func (c *Client) ask(ctx context.Context, q question, patience time.Duration) (*answer, error) {
	dialer := net.Dialer{Timeout: dialPatience}
	dialed, err := dialer.DialContext(ctx, "unix", c.path)
	if err != nil {
		if isDead(err) {
			return nil, ErrNone
		}
		return nil, fmt.Errorf("calling the Sonde that holds it: %w", err)
	}
	conn := dialed.(*net.UnixConn)
	defer func() { _ = conn.Close() }()
	pid, uid, err := peerOf(conn)
	if err != nil {
		return nil, err
	}
	if uid != c.uid && uid != 0 {
		return nil, &StrangerError{pid, uid}
	}
	_ = conn.SetWriteDeadline(time.Now().Add(askPatience))
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	q.Sonde = protocol
	unsaid := writeLine(conn, &q)
	if unsaid != nil { // one that has no place for this call says so and hangs up without listening
		_ = conn.SetReadDeadline(time.Now().Add(askPatience))
	}
	a := &answer{}
	if err := readLine(conn, mostAnswer, a); err != nil {
		return nil, c.unheard(ctx, cmp.Or(unsaid, err))
	}
	if a.Error != "" {
		return a, &RefusedError{a.Error}
	}
	if a.Sonde != protocol {
		return nil, fmt.Errorf("%w: it speaks protocol %d, this one %d", ErrUnheard, a.Sonde, protocol)
	}
	return a, nil
}

func (c *Client) unheard(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrUnheard, err)
}
