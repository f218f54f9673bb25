package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// oldestJDK is the first whose java.base has what the hooks are made of.
const oldestJDK = 11

// helloLimit bounds how long an agent that was loaded may take to dial.
const helloLimit = 20 * time.Second

// enter gets the agent into the JVM, and its call. Where one waits there since
// the JVM's start it is invited; else it is loaded by attaching.
func (s *Session) enter(ctx context.Context) error {
	if version, err := jdk.ParseVersion(s.jvm.Version); err == nil && version.Feature < oldestJDK {
		return &TooOldError{PID: s.jvm.PID, Version: s.jvm.Version}
	}
	standby := targetfs.HasStandby(s.jvm)
	var target *attach.Conn
	var err error
	if !standby {
		// Asked first: what cannot be attached to gets no files either.
		if target, err = s.attach(ctx); err != nil {
			return err
		}
		defer target.Close()
	}
	if s.foothold, err = targetfs.Make(s.jvm); err != nil {
		return err
	}
	jar, err := s.foothold.PlaceJar(agent.AgentJar())
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
		Token: secrets.Token, Proof: secrets.Proof, Holder: s.holder(),
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
			return nil // it was invited, and is on its way
		}
		if err := s.foothold.Loads(jar); err != nil {
			return err
		}
		return target.LoadAgent(ctx, jar.Path, path)
	}
	return s.meet(ctx, door, listener.Socket != "", load)
}

// attach asks a JVM whether it would load an agent.
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

// invite calls the agent that waits in the JVM. Where that does not come, it
// gives the way to load one instead, if there is any.
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

// meet loads the agent and waits for its call; whichever fails first ends both.
func (s *Session) meet(ctx context.Context, door *control.Door, local bool, load func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
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

func (s *Session) holder() string {
	return fmt.Sprintf("%s, process %d", s.settings.Command, os.Getpid())
}

// unanswered is the agent's reason to leave a class alone that may be noted as
// woven. For others it has not asked, or was told that the weaving failed.
const unanswered = "no answer came in time"

// byAgent is its reason where a class that loads could not be asked about: it is woven
// with the next batch.
const byAgent = "a thread of the agent, which cannot wait, loaded it"

// remark passes on what a user should read. What the agent left alone by itself
// is kept with the rest of what was left alone.
func (s *Session) remark(text string) {
	if class, reason, ok := strings.Cut(text, " was left alone: "); ok {
		switch {
		case reason == unanswered && len(s.choices.spotted(class)) > 0: // the next batch has it
			if s.book.missed(class) {
				s.book.withdraw(class, reason)
			}
			s.choices.oweLoaded(class)
		case reason == unanswered && s.book.missed(class):
			s.book.withdraw(class, reason)
		case reason == byAgent && s.choices.oweLoaded(class):
		case reason == byAgent && !s.book.wantClass(class): // shown for others that are named alike
		default:
			s.book.leave(class, reason)
		}
		return
	}
	if text != "" && s.settings.Notice != nil {
		s.settings.Notice(text)
	}
}

// explain adds to an error of the conversation what a user can do about it.
func (s *Session) explain(err error) error {
	var refused *control.RefusedError
	var none *control.NoAgentError
	switch {
	case errors.As(err, &refused):
		return &HeldError{PID: s.jvm.PID, Holder: refused.Holder}
	case errors.As(err, &none):
		return fmt.Errorf("process %d: the agent was loaded but did not call (%w): see what the program printed to its error stream", s.jvm.PID, err)
	}
	return fmt.Errorf("process %d: %w", s.jvm.PID, err)
}
