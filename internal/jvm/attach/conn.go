package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Conn is a JVM that answers commands. It holds no connection between them,
// since a JVM serves one at a time and others may want it.
type Conn struct {
	jvm    *process.JVM
	target target
}

// executeLimit bounds a command whose context has no deadline. Starting an
// agent, or walking a large heap, takes long.
const executeLimit = 2 * time.Minute

// Open makes a JVM listen for commands. Its errors are of type *Error.
func Open(ctx context.Context, pid int) (*Conn, error) {
	jvm, err := preflight(process.Local, pid)
	if err != nil {
		return nil, err
	}
	live, err := newLive(process.Local, jvm)
	if err != nil {
		return nil, err
	}
	return open(ctx, jvm, live)
}

func open(ctx context.Context, jvm *process.JVM, t target) (*Conn, error) {
	c := &Conn{jvm: jvm, target: t}
	conn, err := connect(ctx, t)
	if err != nil {
		t.close()
		return nil, c.explain(err)
	}
	_ = conn.Close() // that it opened was all
	return c, nil
}

// JVM is what was known of the JVM when it was opened.
func (c *Conn) JVM() *process.JVM { return c.jvm }

// Close forgets the JVM, which goes on listening.
func (c *Conn) Close() { c.target.close() }

// Execute has the JVM carry out a command, such as "properties", or "jcmd" with
// "VM.version". A reply with a code other than 0 is no error here.
func (c *Conn) Execute(ctx context.Context, command string, args ...string) (Reply, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, executeLimit)
		defer cancel()
	}
	if hasZero(append(args, command)...) {
		return Reply{}, c.fail(ErrCommand, "a word of it holds a zero byte", nil)
	}
	request := requestV1(command, args)
	if !fitsV1(command, args) {
		var err error
		if request, err = c.longRequest(ctx, command, args); err != nil {
			return Reply{}, err
		}
	}
	reply, err := c.exchange(ctx, request)
	if err == nil && reply.Code == codeBadVersion && strings.TrimSpace(reply.Text) == "" {
		err = c.fail(ErrCommand, "it speaks another version of the protocol", nil)
	}
	return reply, err
}

// longRequest puts a command into version 2, where the JVM knows it.
func (c *Conn) longRequest(ctx context.Context, command string, args []string) ([]byte, error) {
	reply, err := c.exchange(ctx, requestV1("getversion", nil))
	if err != nil {
		return nil, err
	}
	// An older JVM does not know the command.
	if reply.Code != 0 || strings.TrimSpace(reply.Text) != "2" {
		return nil, c.fail(ErrTooLong, fmt.Sprintf("before JDK 24 there may be %d arguments of %d bytes: use shorter paths",
			argumentsV1, longestWordV1), nil)
	}
	request := requestV2(command, args)
	if len(request) > longestRequestV2 {
		return nil, c.fail(ErrTooLong, fmt.Sprintf("it may have %d bytes: use shorter arguments", longestRequestV2), nil)
	}
	return request, nil
}

func (c *Conn) exchange(ctx context.Context, request []byte) (Reply, error) {
	conn, err := connect(ctx, c.target)
	if err != nil {
		return Reply{}, c.explain(err)
	}
	reply, err := converse(ctx, conn, request)
	if err != nil {
		return Reply{}, c.explain(err)
	}
	return reply, nil
}

func (c *Conn) fail(kind error, detail string, cause error) *Error {
	return &Error{PID: c.jvm.PID, Kind: kind, Detail: detail, Cause: cause}
}

// explain turns what failed on the way into an *Error.
func (c *Conn) explain(err error) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return c.fail(ErrTimeout, "it may be stopped, paused or starved of processor time; see its state in ps, then try again", err)
	case errors.Is(err, context.Canceled):
		return c.fail(ErrTimeout, "interrupted", err)
	case errors.Is(err, ErrGone) || !c.target.alive():
		return c.fail(ErrGone, "sonde ps lists those there are", nil)
	}
	return c.fail(ErrCommand, "the conversation broke off; try again", err)
}
