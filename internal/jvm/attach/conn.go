// Package attach speaks HotSpot's attach protocol, without the tools of a JDK.
//
// A JVM starts to listen on a Unix socket in its /tmp if a certain file exists when it receives
// SIGQUIT. That signal kills other programs, and a JVM that does not allow attaching answers it
// with a thread dump. So a process is signalled only if package process has identified it as a
// HotSpot JVM that allows attaching, and the signal is sent to the inspected process itself
// (through a pidfd), not to a PID.
//
// The JVM answers only its own user. Files are created and the socket is opened with that user's identity,
// which one locked thread takes on temporarily; both are reached through /proc, in the JVM's own mount
// namespace.
//
// Every wait ends: with the context, or after a limit of its own.
package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Conn executes commands in a JVM. It holds no connection between commands, because a JVM serves only one
// at a time.
type Conn struct {
	jvm    *process.JVM
	target target
}

// executeLimit bounds a command whose context has no deadline. Starting an agent, or walking a large heap,
// takes long.
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
	_ = conn.Close() // it has proven that the JVM listens
	return c, nil
}

// JVM returns the facts about the JVM at the time of Open.
func (c *Conn) JVM() *process.JVM { return c.jvm }

// Close releases the JVM, which continues to listen.
func (c *Conn) Close() { c.target.close() }

// Execute executes a command in the JVM, such as "properties", or "jcmd" with "VM.version". A reply with a
// code other than 0 is not an error.
func (c *Conn) Execute(ctx context.Context, command string, args ...string) (Reply, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, executeLimit)
		defer cancel()
	}
	if hasZero(append(args, command)...) {
		return Reply{}, c.fail(ErrCommand, "an argument contains a zero byte", nil)
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

// longRequest encodes a command in version 2 if the JVM supports it.
func (c *Conn) longRequest(ctx context.Context, command string, args []string) ([]byte, error) {
	reply, err := c.exchange(ctx, requestV1("getversion", nil))
	if err != nil {
		return nil, err
	}
	// An older JVM does not know the command.
	if reply.Code != 0 || strings.TrimSpace(reply.Text) != "2" {
		return nil, c.fail(ErrTooLong, fmt.Sprintf("before JDK 24 a command can have at most %d arguments of %d bytes each; use shorter paths",
			argumentsV1, longestWordV1), nil)
	}
	request := requestV2(command, args)
	if len(request) > longestRequestV2 {
		return nil, c.fail(ErrTooLong, fmt.Sprintf("a command can have at most %d bytes; use shorter arguments", longestRequestV2), nil)
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

// explain converts an error into an *Error.
func (c *Conn) explain(err error) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return c.fail(ErrTimeout, "it may be stopped, or get no processor time; check its state with ps, then try again", err)
	case errors.Is(err, context.Canceled):
		return c.fail(ErrTimeout, "interrupted", err)
	case errors.Is(err, ErrGone) || !c.target.alive():
		return c.fail(ErrGone, "sonde ps lists the running JVMs", nil)
	}
	return c.fail(ErrCommand, "the connection broke before the JVM answered; try again", err)
}

// The kinds of errors. Each text is the beginning of an error's line; the remedy follows.
var (
	ErrNoProcess   = errors.New("there is no such process")
	ErrNotJVM      = errors.New("it is not a JVM")
	ErrOpenJ9      = errors.New("it is an OpenJ9 JVM")
	ErrPermission  = errors.New("it belongs to another user")
	ErrDisabled    = errors.New("Sonde cannot attach to it") //nolint:staticcheck // Sonde is a name
	ErrAgentsOff   = errors.New("it cannot load agents")
	ErrReadOnlyTmp = errors.New("its /tmp is read-only")
	ErrGone        = errors.New("it has ended")
	ErrTimeout     = errors.New("it did not answer in time")
	ErrImpostor    = errors.New("the file at the path of its attach socket is not from this JVM")
	ErrCommand     = errors.New("the command failed")
	ErrAgent       = errors.New("the agent did not start")
	ErrTooLong     = errors.New("the command is too long")
)

// An Error is one line: the process, the problem and the remedy. It wraps one of the errors above.
type Error = process.Obstacle

// The results of JPLIS, the JDK's implementation of Java agents.
const (
	agentBadJar    = 100
	agentNotOnPath = 101
	agentThrew     = 102
)

// LoadAgent makes the JVM load a Java agent from a jar, given by its absolute path as the JVM sees it. options
// is the argument of its agentmain.
func (c *Conn) LoadAgent(ctx context.Context, jar, options string) error {
	switch {
	case c.jvm.Agents.Answer == process.No:
		return c.fail(ErrAgentsOff, c.jvm.Agents.Reason, nil)
	case !path.IsAbs(jar):
		return c.fail(ErrAgent, fmt.Sprintf("%s is not an absolute path", jar), nil)
	case strings.Contains(jar, "="):
		return c.fail(ErrAgent, fmt.Sprintf("the path of the agent's jar, %s, contains =, after which the JVM expects the agent's options; use another path", jar), nil)
	}
	if options != "" {
		options = "=" + options
	}
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, longestPause) {
		// JDK 17 and older reply that they started an agent, and do not, until they are live.
		if c.jvm.Uptime() > bootLimit || c.target.started() {
			reply, err := c.Execute(ctx, "load", "instrument", "false", jar+options)
			if err != nil {
				return err
			}
			if !isBooting(reply) {
				return c.agentError(jar, reply)
			}
		}
		if time.Since(began) > bootLimit {
			return c.fail(ErrAgent, "its JVM is still starting; try again later", nil)
		}
		if process.Pause(ctx, pause) != nil {
			return context.Cause(ctx)
		}
	}
}

// bootLimit bounds the time from when a JVM answers until it is live, with its modules, which agents need.
// Most JVMs take tens of milliseconds.
const bootLimit = 5 * time.Second

// isBooting reports whether the JVM looked for the module of agents before it had any, or, as JDK 25 does a
// little later, reports that it is not live yet. An exception of an agent is reported differently.
func isBooting(reply Reply) bool {
	text := strings.TrimSpace(reply.Text)
	return reply.Code == -1 && text == "java.lang.NullPointerException" ||
		text == "Dynamic agent loading is only permitted in the live phase"
}

// agentError evaluates the reply to a load. A code of 0 does not mean success: JDK 25 refuses with it, and the
// agent's own result is in the text, after "return code: " since JDK 9.
func (c *Conn) agentError(jar string, reply Reply) error {
	text := strings.TrimSpace(reply.Text)
	result, err := strconv.Atoi(strings.TrimPrefix(text, "return code: "))
	switch {
	case reply.Code == 0 && err == nil && result == 0:
		return nil
	case reply.Code == 0 && err == nil:
		return c.fail(ErrAgent, agentResult(jar, result), nil)
	case strings.Contains(text, "agent loading is not enabled"):
		return c.fail(ErrAgentsOff, process.NoAgents, nil)
	case strings.Contains(text, "FindException") && strings.Contains(text, "java.instrument"):
		return c.fail(ErrAgentsOff, "its run-time image lacks the module java.instrument; "+
			"add it with jlink --add-modules java.instrument", nil)
	case text == "":
		return c.fail(ErrAgent, fmt.Sprintf("the JVM returned code %d without a reason", reply.Code), nil)
	}
	return c.fail(ErrAgent, firstLine(text), nil)
}

func agentResult(jar string, result int) string {
	switch result {
	case agentBadJar:
		return jar + " cannot be read by the JVM, or has no Agent-Class; put it where the JVM and its user can read it"
	case agentNotOnPath:
		return "the JVM could not add " + jar + " to its class path; see the program's error stream"
	case agentThrew:
		return "its agentmain threw an exception; the stack trace is on the program's error stream"
	}
	return fmt.Sprintf("it returned %d", result)
}

// target is a JVM. Tests have another implementation.
type target interface {
	// dial opens a connection, or fails with errNoListener or errBusy.
	dial() (net.Conn, error)
	// ask makes the JVM listen, sooner or later. withdraw removes the file that it needs for that. It fails with
	// errAsked if another process has asked.
	ask() (withdraw func(), err error)
	// alive reports whether the process is still running.
	alive() bool
	// started reports whether a thread runs that HotSpot starts just after its live phase has begun.
	started() bool
	close()
}

var (
	errNoListener = errors.New("nothing listens on the attach socket of the JVM")
	errBusy       = errors.New("too many processes are attaching to the JVM")
	errAsked      = errors.New("another process is attaching to the JVM")
)

// waitLimit bounds the time that a JVM may take to listen. A JVM in a long pause, or without a processor, needs
// seconds.
const waitLimit = 15 * time.Second

// Polling starts fast, because most JVMs listen within a millisecond or two.
const (
	firstPause   = time.Millisecond
	longestPause = 50 * time.Millisecond
)

// connect opens a connection. It makes the JVM listen if it does not yet. A JVM that listens must not be asked:
// it would print a thread dump into the output of the program. The JVM serves one connection at a time, so the
// caller must use it at once.
func connect(ctx context.Context, t target) (net.Conn, error) {
	conn, err := t.dial()
	if !errors.Is(err, errNoListener) && !errors.Is(err, errBusy) {
		return conn, err
	}
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	isAsked := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if errors.Is(err, errNoListener) && !isAsked {
			withdraw, err := t.ask()
			switch {
			case err == nil:
				isAsked = true
				defer withdraw()
			case !errors.Is(err, errAsked):
				return nil, err
			}
		}
		if err := process.Pause(ctx, pause); err != nil {
			return nil, err
		}
		conn, err = t.dial()
		switch {
		case !errors.Is(err, errNoListener) && !errors.Is(err, errBusy):
			return conn, err
		case !t.alive():
			return nil, ErrGone
		}
	}
}

// preflight checks, without touching the process, that it is a HotSpot JVM that answers us.
func preflight(host process.Host, pid int) (*process.JVM, error) {
	jvm, err := host.Inspect(pid)
	switch {
	case errors.Is(err, process.ErrNoProcess):
		return nil, &Error{PID: pid, Kind: ErrNoProcess, Detail: "sonde ps lists the running JVMs"}
	case errors.Is(err, process.ErrNotJVM):
		return nil, &Error{PID: pid, Kind: ErrNotJVM, Detail: "sonde ps lists the running JVMs"}
	case err != nil:
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: "its files in /proc cannot be read", Cause: err}
	}
	switch {
	case jvm.Kind == process.OpenJ9:
		return nil, &Error{PID: pid, Kind: ErrOpenJ9, Detail: jvm.Attach.Reason}
	case jvm.Kind == process.Hidden || !asuser.MayBecome(jvm.UID, jvm.GID):
		return nil, &Error{PID: pid, Kind: ErrPermission, Detail: jvm.Access()}
	case jvm.Attach.Answer != process.Yes:
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: jvm.Attach.Reason}
	case jvm.Stopped:
		// It would handle the signal long after the file for it is removed.
		return nil, &Error{PID: pid, Kind: ErrDisabled, Detail: fmt.Sprintf("it is stopped by a signal or a debugger; resume it with kill -CONT %d", pid)}
	}
	return jvm, nil
}
