package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// helloLimit bounds how long a loaded agent may take to connect, and slowHello is when that is said to take long: on a busy machine, or with
// -Xcomp, a JVM takes half a minute to run the agent's first classes.
const (
	helloLimit = time.Minute
	slowHello  = 10 * time.Second
)

// enter connects to the agent. An agent that was loaded when the JVM started is invited;
// otherwise the agent is loaded by attaching.
func (s *Session) enter(ctx context.Context) error {
	if version, err := jdk.ParseVersion(s.jvm.Version); err == nil && !jdk.Hooks(version) {
		return &NoHooksError{
			PID: s.jvm.PID, Why: fmt.Sprintf("it runs JDK %s, and hooks need JDK 8, or 11 or later", s.jvm.Version),
			Remedy: "start it with one of these, or weave its jars with sonde instrument",
		}
	}
	standby := process.Local.Waits(s.jvm)
	var target *attach.Conn
	var err error
	if !standby {
		// First, so that no files are written where attaching is impossible.
		if target, err = s.attach(ctx); err != nil {
			return err
		}
		defer target.Close()
	}
	if s.foothold, err = targetfs.Make(s.jvm); err != nil {
		return err
	}
	content := agent.AgentJar()
	if s.isBeside() {
		content = agent.JarBeside()
	}
	jar, err := s.foothold.PlaceJar(content)
	if err != nil {
		return err
	}
	s.remark(jar.Remark)
	listener, err := s.foothold.Listen()
	if err != nil {
		return err
	}
	secrets := control.NewSecrets()
	door := control.Listen(listener, secrets, control.Settings{
		Lease: s.settings.Lease, Weave: s.weave, Notice: s.remark,
	})
	defer func() { _ = door.Close() }()
	path, err := s.foothold.WriteSession(targetfs.Session{
		Jar: jar.Path, Socket: listener.Socket, Port: listener.Port,
		Token: secrets.Token, Proof: secrets.Proof, Holder: fmt.Sprintf("%s, process %d", s.settings.Command, os.Getpid()), Beside: s.isBeside(),
	})
	if err != nil {
		return err
	}
	if standby {
		if target, err = s.invite(ctx, path); err != nil {
			return err
		}
		if target != nil {
			defer target.Close()
		}
	}
	load := func(ctx context.Context) error {
		if target == nil {
			return nil // it was invited, and is about to connect
		}
		if err := s.foothold.Loads(jar); err != nil {
			return err
		}
		return target.LoadAgent(ctx, jar.Path, path)
	}
	return s.meet(ctx, door, listener.Socket != "", load)
}

// A NoHooksError is the error of a JVM that no agent can enter, so that its methods get no hooks.
type NoHooksError struct {
	PID         int
	Why, Remedy string
	Cause       error // nil if there is none
}

func (e *NoHooksError) Error() string {
	return fmt.Sprintf("process %d: no method can get a hook and no class can be read, because %s: %s; %s", e.PID, e.Why, e.Remedy, WithoutHooks)
}

// WithoutHooks says what can be done in a JVM that no agent can enter.
const WithoutHooks = "sonde hot, walk, drill and profile --timing stacks work without hooks"

func (e *NoHooksError) Unwrap() error { return e.Cause }

// CheckHooks returns a NoHooksError if the options of a JVM let no agent in, and none was loaded when it started.
func CheckHooks(jvm *process.JVM) error {
	for _, verdict := range []process.Verdict{jvm.Attach, jvm.Agents} {
		if verdict.Answer == process.No && !process.Local.Waits(jvm) {
			why, remedy, _ := strings.Cut(verdict.Reason, "; ")
			return &NoHooksError{PID: jvm.PID, Why: why, Remedy: remedy}
		}
	}
	return nil
}

// noHooks returns a NoHooksError if the JVM lets no agent in, now or later; otherwise it returns the error itself.
func (s *Session) noHooks(err error) error {
	var obstacle *process.Obstacle
	isDisabled := errors.Is(err, attach.ErrDisabled) && s.jvm.Attach.Answer == process.No
	isReadOnly := errors.Is(err, attach.ErrReadOnlyTmp)
	if !isDisabled && !isReadOnly && !errors.Is(err, attach.ErrAgentsOff) || !errors.As(err, &obstacle) {
		return err
	}
	why, remedy, _ := strings.Cut(obstacle.Detail, "; ")
	if isReadOnly {
		why = fmt.Sprintf("%v: %s", obstacle.Kind, why)
	}
	return &NoHooksError{PID: s.jvm.PID, Why: why, Remedy: remedy, Cause: err}
}

// attach opens an attach connection to a JVM that allows agents to be loaded.
func (s *Session) attach(ctx context.Context) (*attach.Conn, error) {
	target, err := attach.Open(ctx, s.jvm.PID)
	if err != nil {
		return nil, err
	}
	if s.jvm.Agents.Answer == process.No {
		target.Close()
		return nil, &attach.Error{PID: s.jvm.PID, Kind: attach.ErrAgentsOff, Detail: s.jvm.Agents.Reason}
	}
	return target, nil
}

// invite asks the agent that waits in the JVM to connect. If that agent does not respond,
// it returns a connection by which one can be loaded, if that is possible.
func (s *Session) invite(ctx context.Context, session string) (*attach.Conn, error) {
	err := s.foothold.Invite(ctx, session)
	if !errors.Is(err, targetfs.ErrNotTaken) || ctx.Err() != nil {
		return nil, err
	}
	target, refusal := s.attach(ctx)
	if refusal != nil {
		return nil, err
	}
	return target, nil
}

// meet loads the agent and waits until it connects; whichever fails first ends both.
func (s *Session) meet(ctx context.Context, door *control.Door, local bool, load func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	defer time.AfterFunc(slowHello, func() {
		s.notice(fmt.Sprintf("process %d takes long to start the agent: Sonde waits up to a minute", s.jvm.PID))
	}).Stop()
	loaded := make(chan error, 1)
	go func() {
		err := load(ctx)
		if err != nil {
			cancel()
		}
		loaded <- err
	}()
	check := control.FromProcess(s.jvm.PID, s.jvm.UID)
	if !local {
		check = nil
	}
	peer, err := door.Accept(ctx, check)
	if loading := <-loaded; loading != nil && (err != nil || peer == nil) {
		return loading
	}
	if err != nil {
		return s.explain(err)
	}
	s.peer = peer
	return nil
}

// unanswered is the agent's reason for leaving a class unwoven that Sonde may have noted as woven.
// For other reasons it has not asked, or got an error.
const unanswered = "Sonde did not answer within two seconds"

// byAgent is the agent's reason where it could not ask about a class that loads: the class
// is woven with the next batch.
const byAgent = "it was loaded by the agent's own thread, which cannot wait for Sonde"

// remark passes messages of the agent on to the user. Classes that the agent left alone
// are added to LeftAlone.
func (s *Session) remark(text string) {
	if class, reason, ok := strings.Cut(text, " was left alone: "); ok {
		switch {
		case reason == unanswered && s.weaver.HasSpots(class): // the next batch contains it
			if s.state.missed(class) {
				s.state.withdraw(class, reason)
			}
			s.setPending(class)
		case reason == unanswered && s.state.missed(class):
			s.state.withdraw(class, reason)
		case reason == byAgent && s.weaver.Names(class):
			s.setPending(class)
		case reason == byAgent && !s.weaver.Names(class): // it was shown because its name is similar
		default:
			s.state.leave(class, reason)
		}
		return
	}
	if text != "" {
		s.notice(text)
	}
}

// notice shows a message to the users of all looks.
func (s *Session) notice(text string) {
	s.looks.lock.Lock()
	all := slices.Clone(s.looks.all)
	s.looks.lock.Unlock()
	if len(all) == 0 && s.settings.Notice != nil {
		s.settings.Notice(text)
	}
	for _, l := range all {
		if l.settings.Notice != nil {
			l.settings.Notice(text)
		}
	}
}

// setPending marks a class that has loaded without its hooks.
func (s *Session) setPending(class string) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.classes.setPending(class, &pendingClass{})
}

// explain adds to an error of the connection what a user can do about it.
func (s *Session) explain(err error) error {
	var refused *control.RefusedError
	var none *control.NoAgentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &HeldError{PID: s.jvm.PID, Holder: refused.Holder}
	case errors.As(err, &none) && s.jvm.Restricted:
		return fmt.Errorf("process %d: the agent was loaded but did not connect: the program's SecurityManager forbids that; grant java.security.AllPermission to the agent's jar in the program's policy, or start it without -Djava.security.manager", s.jvm.PID)
	case errors.As(err, &none):
		return fmt.Errorf("process %d: the agent was loaded but did not connect (%w); see the program's error stream", s.jvm.PID, err)
	}
	return fmt.Errorf("process %d: %w", s.jvm.PID, err)
}
