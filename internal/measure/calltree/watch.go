package calltree

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// watch counts the calls of the tree's methods for a while. Leaving the JVM takes the
// hooks out, all at once. A Ctrl-C ends it early, with what was seen.
func (l *look) watch(ctx context.Context) error {
	methods, more := l.result.Watchable(l.Hooks, l.Limits.JDK)
	l.result.Unwatched = more
	wanted := make(map[string]bool)
	var request session.Request
	for _, m := range methods {
		wanted[m.Class] = true
		request.Hooks = append(request.Hooks, session.Hook{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor, Flags: arena.On | arena.Flat})
	}
	// What was read on disk the JVM has not been asked for yet.
	isWanted := func(class string) bool { return wanted[class] }
	if _, err := l.session.Prefetch(ctx, isWanted, isWanted); err != nil {
		return err
	}
	if _, err := l.session.Hook(ctx, request); err != nil {
		return err
	}
	began := time.Now()
	had := make(map[callgraph.Method]uint32)
	for _, m := range methods {
		if id := l.session.ID(m.Class, m.Name, m.Descriptor); l.session.IsHooked(id) {
			had[m] = id
		}
	}
	l.result.Watched = len(had)
	if l.Watching != nil {
		l.Watching(len(had))
	}
	timer := time.NewTimer(l.Watch)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-l.session.Done():
		l.remark(l.session.Err().Error())
	}
	l.result.WatchedFor = time.Since(began)
	return l.read(had)
}

// read notes what the hooks have seen, and which there are not.
func (l *look) read(had map[callgraph.Method]uint32) error {
	sum, err := l.session.Sum()
	if err != nil {
		return err
	}
	hooked := make(map[callgraph.Method]Hooked)
	for m, id := range had {
		hooked[m] = Hooked{}
		if totals := sum.Methods[id]; totals != nil {
			hooked[m] = Hooked{Calls: totals.Calls, LowerBound: totals.LowerBound}
		}
	}
	l.result.Mark(hooked)
	reasons := make(map[callgraph.Method]string)
	for _, left := range l.session.LeftAlone() {
		m := callgraph.Method{Class: left.Class}
		if left.Method != "" {
			_, m.Name, m.Descriptor, _ = session.SplitMember(left.Class + "." + left.Method)
		}
		reasons[m] = left.Reason
	}
	l.result.Refuse(reasons)
	return nil
}
