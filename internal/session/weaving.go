package session

import (
	"context"
	"errors"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/original"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// errLate is the error of an answer that the agent no longer waits for.
var errLate = errors.New("the agent no longer waits for this class, because weaving took too long")

// weave answers the JVM's question what a class becomes. Several threads may ask at once:
// the agent's own, for a batch, and threads of the program that load classes; and again
// for a class that is woven already, when another agent retransforms it. The note of an
// answer that fails, or comes too late, is withdrawn.
func (s *Session) weave(ctx context.Context, class control.Transform) (control.Woven, error) {
	if class.Handle != 0 {
		s.progress.add()
	}
	if s.state.isCaptured(class) {
		return control.Woven{}, nil
	}
	s.state.begin(class.Name)
	woven, isNoted, err := s.answer(ctx, class)
	reason := unanswered
	if isLate := s.state.end(class.Name, ctx.Err() != nil); isLate {
		err = errors.Join(err, errLate)
	} else if err != nil {
		reason = firstLine(err.Error())
	}
	if err != nil {
		if isNoted {
			s.state.withdraw(class.Name, reason)
		}
		return control.Woven{}, err
	}
	return woven, nil
}

// answer also reports whether the class is noted as woven.
func (s *Session) answer(ctx context.Context, class control.Transform) (_ control.Woven, isNoted bool, _ error) {
	s.askAboutLoading(class)
	if err := ctx.Err(); err != nil {
		return control.Woven{}, false, err
	}
	if !s.mayWeave(class) {
		return s.plain(class), false, nil
	}
	choice, err := s.chooseBytes(class)
	if class.Handle != 0 && s.isLeaving.Load() { // the batch was interrupted
		return unwoven(choice), false, nil
	}
	var damage *original.Damage
	if errors.As(err, &damage) && s.settings.Force {
		err = nil
	}
	if err != nil {
		s.state.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, false, nil
	}
	woven, off, err := s.weaveBytes(ctx, class.Name, choice.Weave)
	if err != nil {
		s.state.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, false, nil
	}
	if class.Handle == 0 {
		err = s.switchLoaded(ctx, off)
	} else if woven == nil {
		return unwoven(choice), false, nil
	}
	return control.Woven{New: woven, Original: choice.Restore}, woven != nil, err
}

// chooseBytes returns the bytes that a class is woven from. For a class that is loading,
// these are the bytes from the JVM, which only the weaver parses.
func (s *Session) chooseBytes(class control.Transform) (original.Choice, error) {
	if class.Handle == 0 {
		return original.Choice{Weave: class.Bytes}, nil
	}
	s.state.lock.Lock()
	file := s.state.classes.file(class.Handle)
	s.state.lock.Unlock()
	return original.Choose(original.Input{JDK: s.jdk, File: file, Given: class.Bytes})
}

// switchLoaded switches the hooks of a class that is loading, before its first call. While
// batches are installed, it leaves them off: they are switched on together with the hooks of the batches.
func (s *Session) switchLoaded(ctx context.Context, off inactive) error {
	s.state.lock.Lock()
	isInstalling := s.state.installing > 0
	s.state.lock.Unlock()
	if isInstalling || len(off.hooks)+len(off.spots) == 0 {
		return nil
	}
	s.switching.Lock()
	defer s.switching.Unlock()
	s.describe()
	if err := s.switchLoading(ctx, off.hooks); err != nil || len(off.spots) == 0 {
		return err
	}
	return s.sendSpots(ctx, off.spots)
}

func (s *Session) mayWeave(class control.Transform) bool {
	s.state.lock.Lock()
	c := s.state.classes.handles[class.Handle]
	isRefused := class.Handle != 0 && c != nil && c.mode == refused
	s.state.lock.Unlock()
	if isRefused || !s.weaver.Names(class.Name) {
		return false
	}
	if reason := instrument.Exemption(class.Name); reason != "" && !s.weaver.HandsOff(class.Name) {
		s.state.leave(class.Name, reason)
		return false
	}
	return true
}

// weaveBytes weaves a class, or finds it woven in the cache, and notes the outcome. The
// woven class is nil where no method was woven.
func (s *Session) weaveBytes(ctx context.Context, name string, class []byte) (woven []byte, off inactive, err error) {
	out, err := s.weaver.Weave(ctx, class)
	if err != nil {
		return nil, inactive{}, err
	}
	off = s.note(name, out)
	s.noteHandOff(name, out)
	return out.Bytes, off, nil
}

// plain answers for a class that has no hooks any more. An empty answer would do where
// the JVM rebuilds the class without loss; elsewhere it gets its own file.
func (s *Session) plain(class control.Transform) control.Woven {
	s.state.lock.Lock()
	n := s.state.classes.names[class.Name]
	isEmptied := class.Handle != 0 && n != nil && n.emptied
	s.state.lock.Unlock()
	if !isEmptied {
		return control.Woven{}
	}
	choice, err := s.chooseBytes(class)
	if err != nil {
		return control.Woven{}
	}
	return unwoven(choice)
}

// unwoven is the answer for a loaded class that gets no hooks. Where the JVM would lose
// something by rebuilding it, that is its own file.
func unwoven(choice original.Choice) control.Woven {
	return control.Woven{New: choice.Restore, Original: choice.Restore}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
