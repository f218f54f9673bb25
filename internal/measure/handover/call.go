package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

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
