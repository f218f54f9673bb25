package session

import (
	"context"
	"errors"
	"strings"

	"github.com/sonde-jvm/sonde/internal/control"
	"github.com/sonde-jvm/sonde/internal/origin"
	"github.com/sonde-jvm/sonde/internal/weave"
)

func (s *Session) newWeaver() *weave.Weaver {
	w := weave.NewWeaver()
	w.Identify = s.book.identify
	w.Sites, w.SiteTemplate = s.siteOf, s.templates.site
	return w
}

// weave answers the JVM's question what a class is to become. It may be asked
// by several threads at once: the agent's own, for a batch, and those of the
// program that load a class; and again for a class that is woven already, when
// another agent has it retransformed.
func (s *Session) weave(ctx context.Context, class control.Transform) (control.Woven, error) {
	if s.book.isCaptured(class) {
		return control.Woven{}, nil
	}
	s.ask(class)
	if !s.mayWeave(class) {
		return control.Woven{}, nil
	}
	choice, err := origin.Choose(origin.Input{
		JDK: s.jdk, File: s.fileOf(class), Given: class.Bytes, Loading: class.Handle == 0,
	})
	var damage *origin.Damage
	if errors.As(err, &damage) && s.settings.Force {
		err = nil
	}
	if err != nil {
		s.book.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, nil
	}
	woven, isOff, err := s.weaveBytes(class.Name, choice.Weave)
	if err != nil {
		s.book.leave(class.Name, firstLine(err.Error()))
		return control.Woven{}, nil
	}
	if isOff && class.Handle == 0 && !s.book.isInstalling() {
		// Its first call must find the switch on. While batches for a pattern go in,
		// all is switched on together behind the last.
		if err := s.switchOn(ctx); err != nil {
			if ctx.Err() == nil { // else the agent says that no answer came
				s.book.withdraw(class.Name, firstLine(err.Error()))
			}
			return control.Woven{}, err
		}
	}
	return control.Woven{New: woven, Original: choice.Restore}, nil
}

func (s *Session) mayWeave(class control.Transform) bool {
	s.book.lock.Lock()
	bad := class.Handle != 0 && s.book.bad[class.Handle]
	s.book.lock.Unlock()
	if bad || !s.book.wantClass(class.Name) && !s.choices.has(class.Name) {
		return false
	}
	if reason := exemption(class.Name); reason != "" {
		s.book.leave(class.Name, reason)
		return false
	}
	return true
}

// weaveBytes weaves the wanted methods of a class; nil where there is none.
func (s *Session) weaveBytes(name string, class []byte) (woven []byte, isOff bool, err error) {
	weaver := s.weavers.Get().(*weave.Weaver)
	defer s.weavers.Put(weaver)
	s.book.lock.Lock()
	wanted := wishes(s.book.wanted)
	s.book.lock.Unlock()
	result, err := weaver.Append(nil, class, s.picker(wanted))
	if err != nil || len(result.Methods) == 0 {
		return nil, false, err
	}
	return result.Bytes, s.book.note(name, result.Methods, &s.choices), nil
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
