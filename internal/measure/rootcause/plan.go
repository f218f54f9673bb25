package rootcause

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// least is the part of a hot spot's samples that a way must have to be climbed, and
	// leastOfAll of all samples: of a spot that is hardly hot only the main ways count.
	least      = 0.04
	leastOfAll = 0.004
	// mostClasses bounds how many classes are redefined for a climb, those on the
	// heaviest ways first.
	mostClasses = 40
)

// plan decides which methods on the ways up from spots get hooks, and where.
func (w *walker) plan(ctx context.Context, spots []*spot) ([]*subject, error) {
	ways := w.waysOf(spots)
	lightest := math.Inf(1)
	for _, s := range spots {
		lightest = min(lightest, s.least())
	}
	var methods []method
	for _, one := range ways {
		methods = append(methods, one.method)
	}
	if err := w.fetch(ctx, methods); err != nil {
		return nil, err
	}
	weights := make(map[string]float64)
	for _, one := range ways {
		if m := one.method; !isLibrary(m.class) && !w.melts(m) { // these get no hook anyway
			weights[m.class] = max(weights[m.class], one.weight)
		}
	}
	w.calls.judge(weights)
	classes := make(map[string]bool)
	var planned []*subject
	for _, way := range ways {
		s := w.know(way.method)
		if s.state != Seen || slices.Contains(planned, s) || !w.place(s, way, lightest) {
			continue
		}
		fresh := slices.DeleteFunc(s.classes(), func(class string) bool { return classes[class] })
		if len(classes)+len(fresh) > mostClasses {
			s.leave("enough other classes are on the way: one more would cost the program more")
			continue
		}
		for _, class := range fresh {
			classes[class] = true
		}
		planned = append(planned, s)
	}
	return planned, nil
}

// waysOf are the ways up from spots that are worth it, the heaviest first.
func (w *walker) waysOf(spots []*spot) []*way {
	var ways []*way
	for _, s := range spots {
		s.top.each(s.least(), func(one *way) {
			if one.level <= w.Levels && !w.isBeyond(one) {
				ways = append(ways, one)
			}
		})
	}
	slices.SortStableFunc(ways, func(a, b *way) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.level, b.level), a.method.compare(b.method))
	})
	return ways
}

// isBoundary reports whether a way ends at a method because that is asked for.
func (w *walker) isBoundary(m method) bool {
	return slices.ContainsFunc(w.boundary, func(prefix string) bool { return strings.HasPrefix(m.class, prefix) })
}

// isBeyond reports whether a boundary lies below.
func (w *walker) isBeyond(one *way) bool {
	for below := one.below; below != nil; below = below.below {
		if w.isBoundary(below.method) {
			return true
		}
	}
	return false
}

// fetch gets the class files of methods, but for the JDK's.
func (w *walker) fetch(ctx context.Context, methods []method) error {
	wanted := make(map[string]bool)
	for _, m := range methods {
		if _, known := w.files[m.class]; !known && m.class != "" && !isLibrary(m.class) {
			wanted[m.class] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	loaded, err := w.session.Prefetch(ctx, func(class string) bool { return wanted[class] }, func(class string) bool { return wanted[class] })
	if err != nil {
		return err
	}
	for _, class := range loaded {
		if before, known := w.files[class.Name]; !known || before.Reason != "" {
			w.files[class.Name] = class
		}
	}
	return nil
}

// know is what the walk knows of a method.
func (w *walker) know(m method) *subject {
	s := w.subjects[m]
	if s == nil {
		s = &subject{method: m, state: Seen, native: w.calls.known[m], callers: make(map[method]uint64), nanos: make(map[method]uint64)}
		w.subjects[m] = s
		w.order = append(w.order, s)
	}
	return s
}

func (s *subject) leave(reason string) { s.state, s.reason = Left, reason }

// place decides where a subject's hooks go; false where none can.
func (w *walker) place(s *subject, at *way, lightest float64) bool {
	if s.reason = w.obstacle(s); s.reason == "" {
		s.own = true
		return true
	}
	if !s.native || callgraph.IsIntrinsic(classfile.MethodRef{Class: s.class, Name: s.name, Descriptor: s.descriptor}) {
		// A hook around the call would cost what one in the method does. Its callers are
		// known by stacks: the climb begins with them.
		s.leave(s.reason)
		return false
	}
	// Around the calls, in those of its callers that can be changed.
	for _, next := range at.callers {
		caller := w.know(next.method)
		if next.weight < lightest || w.obstacle(caller) != "" {
			continue
		}
		for _, site := range sitesIn(w.files[caller.class].File, caller.method, s.method, w.calls.edges[edge{caller.method, s.method}]) {
			if holder, claimed := w.claimed[site]; !claimed || holder == s.method {
				w.claimed[site] = s.method // of two methods that one call reaches, the heavier
				s.sites = append(s.sites, site)
			}
		}
	}
	if len(s.sites) == 0 {
		s.leave(s.reason)
		return false
	}
	return true
}

// obstacle is why a method can have no hook of its own; "" where it can.
func (w *walker) obstacle(s *subject) string {
	file, known := w.files[s.class]
	switch {
	case s.native:
		return "it is native"
	case isLibrary(s.class):
		return "its class is the JDK's, and compiled into much else"
	case w.calls.isCentral(s.class):
		return fmt.Sprintf("its class is part of the code of %d compiled methods, and of %.0f %% of what runs: to change it would cost the program seconds",
			len(w.calls.code[s.class]), 100*w.calls.heat(map[string]bool{s.class: true}))
	case !known:
		return "its class is hidden, or not loaded any more"
	case file.Reason != "":
		return file.Reason
	case file.File == nil:
		return "its loader finds no class file of it"
	case s.descriptor == "":
		return "thread dumps do not say which overload it is; --recorder does"
	case s.name == "<clinit>":
		return "a static initialiser runs once"
	case w.melts(s.method):
		return "compilers put it into its callers: a hook in it would cost more than it does, and keep them from that"
	}
	return ""
}

// melts reports whether a method is, or surely will be, part of its callers' code. With a
// hook it might be too large for that, and the program slower also while the hook is off.
// Stacks tell its callers all the same. One with a loop is worth a hook.
func (w *walker) melts(m method) bool {
	class, err := classfile.Parse(w.files[m.class].File)
	if err != nil {
		return false
	}
	body := bodyOf(class, m)
	if body == nil || len(body) > overhead.InlinedCode && !w.calls.isInlined(m) {
		return false
	}
	return !callgraph.ShapeOf(body).Loops
}

// weave puts the hooks of subjects in, switched off, in one batch.
func (w *walker) weave(ctx context.Context, subjects []*subject, why string) error {
	var request session.Request
	for _, s := range subjects {
		s.request(&request, 0, 0)
		s.id = w.session.ID(s.class, s.name, s.descriptor)
	}
	if len(request.Hooks)+len(request.Sites) == 0 {
		return nil
	}
	installation, err := w.session.Hook(ctx, request)
	if err != nil {
		return err
	}
	w.account(installation, why, true)
	classes := make(map[string]bool)
	for _, s := range subjects {
		if s.own && !w.session.IsHooked(s.id) {
			s.leave(w.whyNot(s))
			continue
		}
		s.state, s.woven = Woven, true
		for _, class := range s.classes() {
			classes[class] = true
		}
	}
	for class := range classes {
		w.redefined[class]++
	}
	return nil
}

// whyNot is what the session says of a method that was left alone.
func (w *walker) whyNot(s *subject) string {
	for _, left := range w.session.LeftAlone() {
		if left.Class == s.class && (left.Method == "" || left.Method == s.name+s.descriptor) {
			return left.Reason
		}
	}
	return "the JVM has not taken its hook"
}

// account notes a batch.
func (w *walker) account(installation *session.Installation, why string, in bool) {
	if installation == nil {
		return
	}
	for _, b := range installation.Batches {
		w.batches = append(w.batches, Batch{
			At: w.elapsed(), Why: why, In: in, Classes: b.Classes, Pause: b.Cost.Pause, Compile: b.Cost.CompileCPU,
		})
	}
}

// A subject is a method that the walk knows of, and what became of it.
type subject struct {
	method
	id     uint32
	native bool
	state  State
	reason string // why it has no hook
	own    bool   // its hook is in it; else around calls of it
	woven  bool   // its hook is in, or those around calls of it are
	sites  []session.Site

	on       time.Duration // how long its hook was, until since
	since    time.Time
	measured *Measured
	calls    uint64            // that its hook saw
	drawn    uint64            // of those, whose caller is known
	callers  map[method]uint64 // of those
	nanos    map[method]uint64 // their times, by caller
}

// setting is the hook of a subject with some flags.
func (s *subject) setting(flags arena.Flags, period uint32) session.Hook {
	return session.Hook{Class: s.class, Name: s.name, Descriptor: s.descriptor, Flags: flags, Period: period}
}

// request has a subject's hooks do something: its own, or those around calls of it.
func (s *subject) request(to *session.Request, flags arena.Flags, period uint32) {
	if s.own {
		to.Hooks = append(to.Hooks, s.setting(flags, period))
		return
	}
	if flags != 0 {
		flags |= arena.Here
	}
	for _, site := range s.sites {
		site.Native = s.setting(flags, period)
		to.Sites = append(to.Sites, site)
	}
}

// classes are those that a subject's hooks are woven into.
func (s *subject) classes() []string {
	if s.own {
		return []string{s.class}
	}
	var all []string
	for _, site := range s.sites {
		all = append(all, site.Class)
	}
	return all
}

// sitesIn finds the calls of a method in a caller's code, by where stacks show them.
func sitesIn(file []byte, caller, callee method, offsets map[int]bool) []session.Site {
	class, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	body := bodyOf(class, caller)
	found := make(map[session.Site]bool)
	var sites []session.Site
	for at := range offsets {
		site, is := siteAt(class, body, at)
		site.Class, site.Name, site.Descriptor = caller.class, caller.name, caller.descriptor
		if is && site.Called == callee.name && site.CalledDescriptor == callee.descriptor && !found[site] {
			found[site] = true
			sites = append(sites, site)
		}
	}
	return sites
}

// The instructions that call: virtual, special, static and through an interface.
const firstInvoke, lastInvoke = 0xb6, 0xb9

// siteAt reads the call at an offset of a method's code.
func siteAt(class *classfile.Class, body []byte, at int) (session.Site, bool) {
	if at < 0 || at+2 >= len(body) || body[at] < firstInvoke || body[at] > lastInvoke {
		return session.Site{}, false
	}
	owner, name, descriptor, err := class.Pool.Member(uint16(body[at+1])<<8 | uint16(body[at+2]))
	if err != nil || len(name) == 0 || name[0] == '<' {
		return session.Site{}, false
	}
	return session.Site{Owner: string(owner), Called: string(name), CalledDescriptor: string(descriptor)}, true
}

// bodyOf is the code of a method; nil where it has none.
func bodyOf(class *classfile.Class, m method) []byte {
	for i := range class.Methods {
		member := &class.Methods[i]
		name, descriptor, err := class.MemberName(member)
		if err != nil || string(name) != m.name || string(descriptor) != m.descriptor {
			continue
		}
		attribute := class.Find(member.Attributes, classfile.KindCode)
		if attribute == nil {
			return nil
		}
		contents, err := class.Decode(*attribute)
		if err != nil {
			return nil
		}
		if code, is := contents.(*classfile.Code); is {
			return code.Bytes
		}
	}
	return nil
}
