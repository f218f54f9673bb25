package session

import (
	"context"
	"sync"
)

// Sessions are the sessions of a process whose commands share them, at most one for each JVM.
// The zero value has none.
type Sessions struct {
	Command string // shown to users who ask which Sonde holds a JVM

	lock  sync.Mutex
	turns map[int]chan struct{} // by PID; has an element while a session is looked up or opened
	open  map[int]*Session      // by PID
}

// look begins a look in the session with a JVM, which it opens if there is none.
func (o *Sessions) look(ctx context.Context, pid int, settings Settings) (*Look, error) {
	turn := o.turn(pid)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o.lock.Lock()
	s := o.open[pid]
	o.lock.Unlock()
	if s != nil && s.Err() == nil {
		if l := s.look(settings); l != nil {
			return l, nil
		}
		select {
		case <-s.looks.left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	own := settings
	own.Command = o.Command
	s, err := openSession(ctx, pid, own)
	if err != nil {
		return nil, err
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.open == nil {
		o.open = make(map[int]*Session)
	}
	o.open[pid] = s
	s.looks.forget = func() { o.forget(pid, s) }
	return s.look(settings), nil
}

// forget drops a session that has ended, with the class files that it knows: a service may run for
// weeks.
func (o *Sessions) forget(pid int, s *Session) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.open[pid] == s {
		delete(o.open, pid)
	}
}

// CheckTree returns a [BusyError] if a look at a JVM records call trees. A command that will need
// them later can fail at once. Without sessions to share there is no such look.
func (o *Sessions) CheckTree(pid int) error {
	if o == nil {
		return nil
	}
	o.lock.Lock()
	s := o.open[pid]
	o.lock.Unlock()
	if s == nil || s.Err() != nil {
		return nil
	}
	s.looks.lock.Lock()
	defer s.looks.lock.Unlock()
	if s.looks.tree == nil || s.looks.isEnding {
		return nil
	}
	return s.looks.tree.busyTree()
}

func (o *Sessions) turn(pid int) chan struct{} {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.turns == nil {
		o.turns = make(map[int]chan struct{})
	}
	if o.turns[pid] == nil {
		o.turns[pid] = make(chan struct{}, 1)
	}
	return o.turns[pid]
}

// Attached returns the value that belongs to a session under a key. The first caller makes it.
func (s *Session) Attached(key any, first func() any) any {
	s.looks.lock.Lock()
	defer s.looks.lock.Unlock()
	if s.looks.attached == nil {
		s.looks.attached = make(map[any]any)
	}
	if s.looks.attached[key] == nil {
		s.looks.attached[key] = first()
	}
	return s.looks.attached[key]
}
