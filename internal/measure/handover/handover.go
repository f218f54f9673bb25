// Package handover lets a Sonde talk to the Sonde that holds a JVM: ask which probes it has
// applied, pass it other ones, and make it remove its hooks and end.
//
// The Sonde that holds a JVM listens at a Unix socket in a directory of its own user, mode
// 0700: $XDG_RUNTIME_DIR/sonde if that exists, otherwise /tmp/sonde-UID. The socket's name
// identifies the JVM: jvm-PID-START.sock, with the start of the process in clock ticks, so
// that it never denotes a later process with the same PID. Both ends check with the kernel
// that the other end belongs to the same user or to root.
//
// A call is one request and one answer, each a JSON object on a line. Lines and waits are
// bounded:
//
//	{"sonde":1,"ask":"apply","probes":"version: 1\n…","dryRun":false}
//	{"sonde":1,"outcome":{"changes":[…],…}}
//	{"sonde":1,"ask":"save"}    {"sonde":1,"probes":"version: 1\n…"}
//	{"sonde":1,"ask":"status"}  {"sonde":1,"status":{…}}
//	{"sonde":1,"ask":"end"}     {"sonde":1}, after it has left the JVM
//	unknown or failed           {"sonde":1,"error":"…"}
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
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// protocol is the version of the protocol.
const protocol = 1

// Bounds of a line. A probe set has at most a megabyte, which JSON makes longer.
const (
	maxRequest = 8 * probeset.MaxBytes
	maxAnswer  = 16 << 20
)

// The requests.
const (
	askApply  = "apply"
	askSave   = "save"
	askStatus = "status"
	askEnd    = "end"
)

type request struct {
	Sonde  int    `json:"sonde"`
	Ask    string `json:"ask"`
	Probes string `json:"probes,omitempty"` // for apply: YAML
	DryRun bool   `json:"dryRun,omitempty"`
}

type answer struct {
	Sonde   int      `json:"sonde"`
	Error   string   `json:"error,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Probes  string   `json:"probes,omitempty"`
	Status  *Status  `json:"status,omitempty"`
}

// Outcome lists the changes that applying a set made, or would make.
type Outcome struct {
	Changes  []probeset.Change `json:"changes"`
	Woven    int               `json:"woven"`    // spots that are new in the JVM
	Removed  int               `json:"removed"`  // spots that were removed
	Switched int               `json:"switched"` // spots that were switched, without weaving
	// Awaiting is the number of loaded classes that rules will weave at the next sonde apply.
	Awaiting int      `json:"awaiting,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Status is the status of the Sonde that holds a JVM.
type Status struct {
	Sonde   int       `json:"sonde"` // its PID
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Probes  []Running `json:"probes"`
}

// Running holds the measurements of an applied probe, for all its methods together, by
// sequence and by label if it has those.
type Running struct {
	Name   string `json:"name"`
	Level  string `json:"level,omitempty"` // empty if it has ended
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
	Ended      string  `json:"ended,omitempty"` // why, if it has
}

var errTooLong = errors.New("the line is too long")

// readLine reads an object; most is its maximum length in bytes.
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
		return fmt.Errorf("not JSON: %w", err)
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
var ErrNone = errors.New("no sonde apply holds this JVM")

// ErrNoAnswer says that the answer of the other Sonde could not be read or understood.
var ErrNoAnswer = errors.New("the Sonde that holds this JVM sent no valid answer")

// errGone says that a directory was removed while this process waited for its lock.
var errGone = errors.New("the directory is gone")

// ErrHeld says that another Sonde answers for the JVM already.
var ErrHeld = errors.New("another sonde apply holds")

// ErrUnsafe says that a directory cannot be trusted.
var ErrUnsafe = errors.New("Sonde cannot use it; remove it, or set XDG_RUNTIME_DIR to a directory of your own") //nolint:staticcheck // Sonde is a name

// checkPeer returns an error unless the other end belongs to a user or to root.
func checkPeer(conn *net.UnixConn, user uint32) error {
	pid, uid, err := peerOf(conn)
	if err == nil && uid != user && uid != 0 {
		err = fmt.Errorf("the other end is process %d of user %d, which is neither this user nor root", pid, uid)
	}
	return err
}

// Target identifies a JVM by its PID and its start, in clock ticks since boot.
type Target struct {
	PID   int
	Start uint64
}

// longestPath is the length that the kernel accepts for the path of a socket, with a margin.
const longestPath = 100

func (t Target) socket() string { return fmt.Sprintf("jvm-%d-%d.sock", t.PID, t.Start) }

// Places are where sockets may be.
type Places struct {
	Runtime string // value of XDG_RUNTIME_DIR; may be empty
	Users   string // parent of the runtime directories of users, which are named by UID
	Temp    string
}

// Usual returns the places on this host; the argument is the value of XDG_RUNTIME_DIR.
func Usual(runtime string) Places {
	return Places{Runtime: runtime, Users: "/run/user", Temp: "/tmp"}
}

// toListen returns directories to listen in, best first. The runtime directory itself must
// exist already and belong to the user.
func (p Places) toListen(uid uint32) (dirs []string) {
	if filepath.IsAbs(p.Runtime) && ownedBy(p.Runtime, uid) {
		dirs = append(dirs, filepath.Join(p.Runtime, "sonde"))
	}
	return append(dirs, filepath.Join(p.Temp, fmt.Sprint("sonde-", uid)))
}

// toAsk returns directories in which a user's sockets may be. Commands of one user may run
// with different runtime directories, or none.
func (p Places) toAsk(uid uint32) []string {
	return append(p.toListen(uid), filepath.Join(p.Users, fmt.Sprint(uid), "sonde"))
}

// Client talks to the Sonde that holds a JVM.
type Client struct {
	path string
	uid  uint32 // to whom that Sonde must belong
}

// isDead reports whether no process listens at a socket, or there is none, by the error of a
// dial. A busy socket is not dead.
func isDead(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}

// Find looks for the Sonde that holds a JVM. It must belong to this user; root also finds
// those of the JVM's user. The error is [ErrNone] if there is none.
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

// Apply passes a set on, or with dryRun returns what that would change. There may be an
// outcome even if it failed.
func (c *Client) Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*Outcome, error) {
	a, err := c.ask(ctx, request{Ask: askApply, Probes: string(set.YAML()), DryRun: dryRun}, answerPatience)
	if err == nil && a.Outcome == nil {
		err = fmt.Errorf("%w: the result of the change is missing", ErrNoAnswer)
	}
	return a.Outcome, err
}

// Save returns the set that is applied.
func (c *Client) Save(ctx context.Context) (*probeset.Set, error) {
	a, err := c.ask(ctx, request{Ask: askSave}, answerPatience)
	if err != nil {
		return nil, err
	}
	set, err := probeset.Parse([]byte(a.Probes), "probes")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return set, nil
}

// Status returns the status of the other Sonde.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	a, err := c.ask(ctx, request{Ask: askStatus}, answerPatience)
	if err != nil {
		return nil, err
	}
	if a.Status == nil {
		return nil, fmt.Errorf("%w: the status is missing", ErrNoAnswer)
	}
	return a.Status, nil
}

// End makes the other Sonde leave the JVM, and waits until it has.
func (c *Client) End(ctx context.Context) error {
	_, err := c.ask(ctx, request{Ask: askEnd}, endPatience+askPatience)
	return err
}

// ask sends a request and returns the answer, which an error may leave empty.
func (c *Client) ask(ctx context.Context, q request, patience time.Duration) (a answer, err error) {
	dialer := net.Dialer{Timeout: dialPatience}
	dialed, err := dialer.DialContext(ctx, "unix", c.path)
	if isDead(err) {
		return a, ErrNone
	}
	if err != nil {
		return a, fmt.Errorf("the Sonde that holds this JVM does not answer: %w", err)
	}
	conn := dialed.(*net.UnixConn)
	defer func() { _ = conn.Close() }()
	if err := checkPeer(conn, c.uid); err != nil {
		return a, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(askPatience))
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	q.Sonde = protocol
	unsent := writeLine(conn, &q)
	if unsent != nil { // a server that is full answers and closes the connection without reading
		_ = conn.SetReadDeadline(time.Now().Add(askPatience))
	}
	err = readLine(conn, maxAnswer, &a)
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err != nil:
		return answer{}, fmt.Errorf("%w: %w", ErrNoAnswer, cmp.Or(unsent, err))
	case a.Error != "":
		return a, errors.New(a.Error)
	case a.Sonde != protocol:
		return answer{}, fmt.Errorf("%w: it uses protocol %d, this Sonde %d; use the same version of Sonde for both", ErrNoAnswer, a.Sonde, protocol)
	}
	return a, nil
}
