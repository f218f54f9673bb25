package session

import (
	"context"
	"errors"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave/original"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// weave answers the JVM's question what a class is to become. It may be asked
// by several threads at once: the agent's own, for a batch, and those of the
// program that load a class; and again for a class that is woven already, when
// another agent has it retransformed. What was noted of an answer that fails, or
// comes too late, is taken back.
func (s *Session) weave(ctx context.Context, class control.Transform) (control.Woven, error) {
	if s.book.isCaptured(class) {
		return control.Woven{}, nil
	}
	s.book.begin(class.Name)
	woven, isNoted, err := s.answer(ctx, class)
	reason := unanswered
	if isLate := s.book.end(class.Name, ctx.Err() != nil); isLate {
		err = errors.Join(err, errLate)
	} else if err != nil {
		reason = firstLine(err.Error())
	}
	if err != nil {
		if isNoted {
			s.book.withdraw(class.Name, reason)
		}
		return control.Woven{}, err
	}
	return woven, nil
}

// errLate says that an answer is of no use any more.
var errLate = errors.New("the agent no longer waits for it")

// answer also reports whether the class is noted as woven.
func (s *Session) answer(ctx context.Context, class control.Transform) (_ control.Woven, isNoted bool, _ error) {
	s.ask(class)
	if err := ctx.Err(); err != nil {
		return control.Woven{}, false, err
	}
	if !s.mayWeave(class) {
		return s.plain(class), false, nil
	}
	choice, err := original.Choose(original.Input{
		JDK: s.jdk, File: s.fileOf(class), Given: class.Bytes, Loading: class.Handle == 0,
	})
	var damage *original.Damage
	if errors.As(err, &damage) && s.settings.Force {
		err = nil
	}
	if err != nil {
		s.book.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, false, nil
	}
	woven, off, err := s.weaveBytes(ctx, class.Name, choice.Weave)
	if err != nil {
		s.book.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, false, nil
	}
	if class.Handle == 0 {
		err = s.switchLoaded(ctx, off)
	}
	if woven == nil && class.Handle != 0 {
		return unwoven(choice), false, err
	}
	return control.Woven{New: woven, Original: choice.Restore}, woven != nil, err
}

// switchLoaded has the hooks of a class that is being loaded do what they are to: its
// first call must find them on. While batches go in, all is switched on together
// behind the last.
func (s *Session) switchLoaded(ctx context.Context, off undone) error {
	if len(off.hooks) > 0 && !s.book.isInstalling() {
		if err := s.switchLoading(ctx, off.hooks); err != nil {
			return err
		}
	}
	if len(off.spots) > 0 {
		return s.switchLoadingSpots(ctx, off.spots)
	}
	return nil
}

// undone are hooks that do not yet do what they are to, by their ids.
type undone struct{ hooks, spots []uint32 }

func (s *Session) mayWeave(class control.Transform) bool {
	s.book.lock.Lock()
	bad := class.Handle != 0 && s.book.bad[class.Handle]
	s.book.lock.Unlock()
	if bad || !s.book.wantClass(class.Name) && !s.choices.has(class.Name) {
		return false
	}
	if reason := exemption(class.Name); reason != "" && !s.choices.hands(class.Name) {
		s.book.leave(class.Name, reason)
		return false
	}
	return true
}

// weaveBytes weaves the wanted methods of a class, or finds it woven in the cache; nil
// where there is none. It also gives the hooks that do not yet do what they are to.
func (s *Session) weaveBytes(ctx context.Context, name string, class []byte) (woven []byte, off undone, err error) {
	bench := s.benches.Get().(*bench)
	defer s.benches.Put(bench)
	made, err := s.make(ctx, bench, name, class)
	if err != nil {
		return nil, undone{}, err
	}
	off.spots = s.book.noteSpots(made.picked)
	s.noteHandOff(name, made.picked)
	if len(made.Methods) > 0 {
		off.hooks = s.book.note(name, made.Methods, made.picked, &s.choices)
	}
	return made.Bytes, off, nil
}

// fileOf is the class file of a class, nil where none is known.
func (s *Session) fileOf(class control.Transform) []byte {
	s.book.lock.Lock()
	file := s.book.files[class.Handle]
	s.book.lock.Unlock()
	if file == nil && class.Handle != 0 {
		file = s.store.fileOf(class.Name, class.Handle)
	}
	return file
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
