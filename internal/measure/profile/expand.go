package profile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// expand puts hooks into what methods can call, and into the methods themselves. The first
// call of a method that cannot have a hook would not be noticed, so what such a method can
// call gets hooks as well.
func (r *run) expand(ctx context.Context, methods []classfile.MethodRef) error {
	for again := false; len(methods) > 0; again = true {
		request, hooked := r.plan(methods)
		if err := r.install(ctx, request); err != nil {
			return err
		}
		if again {
			r.late(hooked...) // methods without a hook may have called them by now
		}
		methods = r.bare(hooked)
	}
	return nil
}

func (r *run) plan(methods []classfile.MethodRef) (session.Request, []classfile.MethodRef) {
	r.lock.Lock()
	defer r.lock.Unlock()
	all := r.lookAhead(methods)
	expansion := r.widen(all)
	var request session.Request
	var hooked []classfile.MethodRef
	for {
		var more []classfile.MethodRef
		for _, m := range expansion.Methods {
			if r.canHook(m) {
				hooked = append(hooked, m)
			} else {
				more = append(more, m)
			}
		}
		r.addSites(&request, expansion)
		if len(more) == 0 {
			break
		}
		all = append(all, more...)
		expansion = r.widen(more)
	}
	for _, m := range methods {
		if r.canHook(m) && !slices.Contains(hooked, m) {
			hooked = append(hooked, m)
		}
	}
	for _, m := range append(all, r.graph.Settle(hooked)...) {
		r.expanded[m] = true
	}
	for _, m := range hooked {
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	return request, hooked
}

// widen expands methods, and reads the JDK's classes that they call to know which of those
// methods are native.
func (r *run) widen(methods []classfile.MethodRef) callgraph.Expansion {
	all := r.graph.Expand(methods...)
	for {
		var fresh bool
		for _, name := range r.graph.Unknown() {
			if file, _ := r.ask(name); file != nil {
				if more, err := r.graph.Add(file); err == nil {
					fresh = true
					all.Methods = append(all.Methods, more.Methods...)
					all.Sites = append(all.Sites, more.Sites...)
				}
			}
		}
		if !fresh {
			return all
		}
	}
}

// ask returns a class file of the JDK. It looks for each class once.
func (r *run) ask(class string) (file []byte, isFirst bool) {
	if r.asked[class] {
		return nil, false
	}
	r.asked[class] = true
	return r.library.Class(class), true
}

// lookAhead adds the methods that are expanded in the same round.
func (r *run) lookAhead(methods []classfile.MethodRef) []classfile.MethodRef {
	limits := ahead(r.batches)
	if r.scheme == Eager {
		limits = unlimited
	}
	return append(slices.Clone(methods), r.graph.Ahead(methods, limits)...)
}

func (r *run) addSites(request *session.Request, expansion callgraph.Expansion) {
	for _, site := range expansion.Sites {
		if site.Mixed {
			continue // if it reaches another method, that one has a hook of its own
		}
		native := r.hook(site.Native)
		native.Flags &^= arena.Discover
		request.Sites = append(request.Sites, session.Site{Caller: site.Caller, Called: site.Called, Native: native})
		r.natives[r.session.ID(native.MethodRef)] = true
	}
	if expansion.Reflects || expansion.Handles {
		request.Reflection, r.reflects = true, true
	}
}

func (r *run) canHook(m classfile.MethodRef) bool {
	_, cannot := r.unhookable[m.Class]
	return !cannot
}

// bare returns the methods that have no hook although they should.
func (r *run) bare(methods []classfile.MethodRef) []classfile.MethodRef {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(methods), func(m classfile.MethodRef) bool {
		return r.expanded[m] || r.session.IsHooked(r.session.ID(m))
	})
}

func (r *run) loading(class string, file []byte) session.Request {
	others := r.learnLoading(class, file)
	if r.skip.class(class) && !r.patterns.MatchClass(class) {
		return session.Request{}
	}
	added, err := r.graph.Add(file)
	if err != nil {
		return session.Request{}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	var request session.Request
	r.addSites(&request, added)
	for _, m := range r.graph.FindIn(class, r.patterns.Match) {
		r.roots[m] = true
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	for _, other := range others { // their methods may implement one of this class
		for _, m := range r.graph.FindIn(other, r.patterns.Match) {
			if !r.roots[m] {
				r.roots[m] = true
				r.pending = append(r.pending, m)
			}
		}
	}
	for _, body := range r.addLambdas(r.graph.LambdasIn(class, r.patterns.Match)) {
		if body.Class == class {
			request.Hooks = append(request.Hooks, r.hook(body))
		} else {
			r.pending = append(r.pending, body)
		}
	}
	if r.reflects { // reflection may initialise it
		for _, m := range r.graph.Reflected(classfile.MethodRef{Class: class, Name: "<clinit>", Descriptor: "()V"}) {
			if m.Class == class {
				added.Methods = append(added.Methods, m)
			}
		}
	}
	r.mirrored++
	for _, m := range added.Methods {
		if m.Class != class && m.Name != "<clinit>" { // an initialiser has run, or its class is loading too
			r.pending = append(r.pending, m)
		}
	}
	if r.budget != nil {
		return request // the governor finds the others when it goes deeper
	}
	mine := slices.DeleteFunc(slices.Clone(added.Methods), func(m classfile.MethodRef) bool { return m.Class != class })
	for _, m := range r.expandLoading(class, mine, &request) {
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	return request
}

// addLambdas makes the bodies of lambdas and method references that match roots, and that are no roots yet, roots, and returns
// them: the classes of the lambdas themselves cannot have hooks. The lock is held.
func (r *run) addLambdas(lambdas []callgraph.MadeMethod) (fresh []classfile.MethodRef) {
	for _, l := range lambdas {
		if !r.roots[l.Body] {
			r.roots[l.Body] = true
			r.lambdas[l.Body] = l.Made
			fresh = append(fresh, l.Body)
		}
	}
	return fresh
}

// isRoot reports whether stacks below a method are part of the profile.
func (r *run) isRoot(m classfile.MethodRef) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.roots[m] || r.patterns.Match(m) && !strings.Contains(m.Class, callgraph.LambdaClass)
}

// expandLoading expands methods of a class that is loading, as far as that leads to
// methods of the same class, and returns all of them. If nothing else becomes callable,
// their first calls need not wait; otherwise they wait for the next round, in which the
// other methods get hooks.
func (r *run) expandLoading(class string, methods []classfile.MethodRef, request *session.Request) []classfile.MethodRef {
	var others []classfile.MethodRef
	all := methods
	for fresh := methods; len(fresh) > 0; {
		expansion := r.widen(fresh)
		r.addSites(request, expansion)
		fresh = nil
		for _, m := range expansion.Methods {
			switch {
			case m.Class == class:
				fresh = append(fresh, m)
			case r.canHook(m):
				others = append(others, m)
			}
		}
		all = append(all, fresh...)
	}
	r.due = append(r.due, others...)
	if len(others) == 0 {
		for _, m := range all {
			r.expanded[m] = true
		}
	}
	return all
}

// serve puts hooks into the callees of calls that wait, and into methods that became
// callable when classes loaded; then it lets the calls go on.
func (r *run) serve(ctx context.Context) error {
	arrivals, err := r.session.Arrivals(r.answered)
	if err != nil {
		return err
	}
	r.lock.Lock()
	pending, due := r.pending, r.due
	r.pending, r.due = nil, nil
	r.lock.Unlock()
	if len(arrivals) == 0 && len(pending) == 0 && len(due) == 0 && !r.session.HasPending() {
		return nil
	}
	expand, callable := r.arrived(arrivals)
	err = r.round(ctx, expand, slices.Concat(callable, due, pending))
	r.late(pending...)
	if len(arrivals) > 0 {
		r.answered = arrivals[len(arrivals)-1].Ticket
		r.session.Answer(r.answered) // even if the round failed, so that no call waits in vain
	}
	r.report()
	return err
}

// arrived returns the methods of calls that wait, and those that are about to be called by
// reflection.
func (r *run) arrived(arrivals []arena.Arrival) (expand, callable []classfile.MethodRef) {
	for _, a := range arrivals {
		if a.ID == 0 {
			if m, ok := classfile.ParseMethodRef(a.Text); ok {
				callable = append(callable, r.graph.Reflected(m)...)
			}
			continue
		}
		m, known := r.session.Method(a.ID)
		if known && !slices.Contains(expand, m.MethodRef) {
			expand = append(expand, m.MethodRef)
		}
	}
	return expand, callable
}

// round expands some methods and puts hooks into others, in one batch.
func (r *run) round(ctx context.Context, expand, callable []classfile.MethodRef) error {
	request, hooked := r.plan(expand)
	var bare []classfile.MethodRef
	r.lock.Lock()
	for _, m := range callable {
		if !r.canHook(m) {
			bare = append(bare, m)
			continue
		}
		hooked = append(hooked, m)
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	r.lock.Unlock()
	if err := r.install(ctx, request); err != nil {
		return err
	}
	return r.expand(ctx, append(bare, r.bare(hooked)...))
}

// install puts hooks in and records what that cost.
func (r *run) install(ctx context.Context, request session.Request) error {
	if len(request.Hooks) == 0 && len(request.Sites) == 0 && !request.Reflection && !r.session.HasPending() {
		return nil
	}
	before := r.places()
	installation, err := r.session.Update(ctx, session.Change{Add: request, HandOff: r.HandOff})
	r.account(installation, before)
	return err
}

const (
	// Up to this many methods, hooks always go in at once: a second redefinition of a hot
	// class costs a program more than hooks that are not needed.
	fewMethods = 300
	// maxClasses bounds how many classes are changed at once.
	maxClasses = 3000
	// fan is the number of targets up to which a call likely reaches all of them.
	fan = 4
)

// decide chooses the scheme if the options do not.
func (r *run) decide(roots []classfile.MethodRef) {
	size, likely := r.graph.Closure(roots), r.graph.Likely(roots, fan)
	r.closure = size.Methods
	reach := fmt.Sprintf("%s in %s can be reached", format.Plural(size.Methods, "method"), format.Plural(size.Classes, "class"))
	switch {
	case r.Timing == cct.Auto:
		r.scheme, r.why = Lazy, reach+"; hooks are added as the budget allows"
	case r.Scheme != "":
		r.scheme, r.why = r.Scheme, "chosen with --scheme; "+reach
	case len(roots) == 0:
		r.scheme, r.why = Lazy, "the root's class is not loaded yet, so its callees are unknown"
	case size.Methods <= fewMethods:
		r.scheme, r.why = Eager, reach+": installing all hooks in one round costs the target less than several rounds"
	case 3*likely.Methods > size.Methods && size.Classes <= maxClasses:
		r.scheme, r.why = Eager, fmt.Sprintf("%s, and about %d will probably be called: installing all hooks in one round costs the target less than several rounds", reach, likely.Methods)
	default:
		r.scheme, r.why = Lazy, fmt.Sprintf("%s, but only about %d will probably be called: hooks in the methods that are entered cost the target less than hooks in all", reach, likely.Methods)
	}
}

var unlimited = callgraph.Limits{Depth: math.MaxInt, Methods: math.MaxInt, Fan: math.MaxInt}

// ahead bounds how far a lazy round looks: further in each round, since what costs is the
// round and not the hooks in it.
func ahead(rounds int) callgraph.Limits {
	if rounds >= manyRounds {
		return callgraph.Limits{Depth: math.MaxInt, Methods: math.MaxInt, Fan: 4 * fan}
	}
	return callgraph.Limits{Depth: 2 + 2*rounds, Methods: 128 << rounds, Fan: fan}
}

// manyRounds is the number of rounds after which a program is assumed to go everywhere.
const manyRounds = 6

// skipping decides which classes are not followed. The JDK's are not, and their time is
// part of their callers': a program makes billions of calls there, and what it could change
// is rarely there.
type skipping struct {
	into, skip *pattern.Set // nil if there are no patterns
	excludes   []string     // prefixes of classes that are never followed
}

func newSkipping(into, skip, roots []string) (*skipping, error) {
	s := &skipping{}
	var err error
	if len(into) > 0 {
		if s.into, err = pattern.ParseSet(into...); err != nil {
			return nil, fmt.Errorf("--into: %w", err)
		}
	}
	if len(skip) > 0 {
		if s.skip, err = pattern.ParseSet(skip...); err != nil {
			return nil, fmt.Errorf("--skip: %w", err)
		}
	}
	wanted, err := pattern.ParseSet(slices.Concat(into, roots)...)
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	for _, prefix := range callgraph.JDK {
		if !mayBeWanted(wanted, prefix) {
			s.excludes = append(s.excludes, prefix)
		}
	}
	return s, nil
}

// mayBeWanted reports whether a set may have classes with a prefix.
func mayBeWanted(set *pattern.Set, prefix string) bool {
	for _, pattern := range set.Includes() {
		begin, _ := pattern.ClassBounds()
		if strings.HasPrefix(begin, prefix) || strings.HasPrefix(prefix, begin) {
			return true
		}
	}
	return false
}

func (s *skipping) class(name string) bool {
	if s.into != nil && s.into.MatchClass(name) {
		return false
	}
	if s.skip != nil && s.skip.MatchClass(name) {
		return true
	}
	return callgraph.IsJDK(name)
}

// learners returns the patterns that depend on what classes contain.
func (r *run) learners() []*pattern.Pattern {
	all := r.patterns.Patterns()
	for _, set := range []*pattern.Set{r.skip.into, r.skip.skip} {
		if set != nil {
			all = append(all, set.Patterns()...)
		}
	}
	return slices.DeleteFunc(all, func(p *pattern.Pattern) bool { return !p.Learns() })
}

// learn shows the loaded classes to patterns that depend on what classes contain. It returns those
// that it has read. Classes are read first that patterns name, and all if one of these shows that
// methods are selected by type.
func (r *run) learn(ctx context.Context) (read []session.LoadedClass, err error) {
	learners := r.learners()
	if len(learners) == 0 {
		return nil, nil
	}
	needTypes := func() bool { return slices.ContainsFunc(learners, (*pattern.Pattern).NeedsTypes) }
	isWanted := func(class string) bool {
		return !r.library.Has(class) && slices.ContainsFunc(learners, func(p *pattern.Pattern) bool { return p.ReadsClass(class) })
	}
	r.lock.Lock()
	r.types = universe.New(r.library)
	r.lock.Unlock()
	for isAll := false; ; isAll = true {
		didNeed := needTypes()
		classes, err := r.session.Survey(ctx, isWanted)
		if err != nil {
			return nil, err
		}
		r.lock.Lock()
		for _, c := range classes {
			r.types.Add(c)
			if isWanted(c.Name) {
				read = append(read, c)
			}
		}
		pattern.LearnAll(r.types, learners)
		r.lock.Unlock()
		if isAll || needTypes() == didNeed {
			break
		}
	}
	isOpen := func(p *pattern.Pattern) bool { return !p.IsByName() || !p.IsKnown(r.types) }
	r.lock.Lock()
	defer r.lock.Unlock()
	if !slices.ContainsFunc(learners, isOpen) {
		r.types = nil // classes that load later change nothing
	}
	return read, nil
}

// learnLoading shows a class that is loading to the patterns. It returns other classes with methods that
// they match.
func (r *run) learnLoading(class string, file []byte) (others []string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.types == nil {
		return nil
	}
	loaded := r.types.Load(class, file)
	loaded.Origin = universe.Arrived // a root is none before that is certain
	for c := range pattern.LearnLoaded(r.types, loaded, r.learners()) {
		if c.Name != class && r.patterns.MatchClass(c.Name) {
			others = append(others, c.Name)
		}
	}
	return others
}

// mirror reads the loaded classes that are followed, and their supertypes.
func (r *run) mirror(ctx context.Context) error {
	read, err := r.learn(ctx)
	if err != nil {
		return err
	}
	isFollowed := func(class string) bool { return !r.skip.class(class) || r.patterns.MatchClass(class) }
	loaded, err := r.session.Prefetch(ctx, isFollowed, r.patterns.MatchClass)
	if err != nil {
		return err
	}
	isDone := make(map[string]bool)
	for _, c := range loaded {
		isDone[c.Name] = true
	}
	r.addMirrors(append(loaded, slices.DeleteFunc(read, func(c session.LoadedClass) bool { return isDone[c.Name] || !isFollowed(c.Name) })...))
	if err := r.mirrorSupertypes(ctx); err != nil {
		return err
	}
	return r.fetchReflective(ctx)
}

// mirrorSupertypes reads the supertypes of followed classes from the JDK on disk, or else
// from the target.
func (r *run) mirrorSupertypes(ctx context.Context) error {
	for {
		wanted := make(map[string]bool)
		read := 0
		for _, name := range r.graph.Missing() {
			r.lock.Lock() // for each class alone: a class that loads waits for this lock
			file, isFirst := r.ask(name)
			r.lock.Unlock()
			if !isFirst {
				continue
			}
			if file == nil {
				wanted[name] = true
			} else if _, err := r.graph.Add(file); err == nil {
				read++
			}
		}
		if len(wanted) > 0 {
			loaded, err := r.session.Prefetch(ctx, func(class string) bool { return wanted[class] }, nil)
			if err != nil {
				return err
			}
			r.addMirrors(loaded)
			read += len(loaded)
		}
		if read == 0 {
			return nil
		}
	}
}

func (r *run) addMirrors(loaded []session.LoadedClass) {
	r.lock.Lock()
	for _, class := range loaded {
		r.addMirror(class)
	}
	r.lock.Unlock()
	r.report()
}

func (r *run) addMirror(class session.LoadedClass) {
	if class.Reason != "" {
		if class.File == nil {
			return // made by the JVM, usually for a lambda: its callees are known from the method that created it
		}
		r.unhookable[class.Name] = class.Reason
	}
	if class.File == nil {
		r.unhookable[class.Name] = "its class file was not found, so its callees are unknown"
		r.missing++
		return
	}
	r.mirrored++
	if _, err := r.graph.Add(class.File); err != nil {
		r.unhookable[class.Name] = err.Error()
	}
}

// fetchReflective reads the JDK's classes that report calls by reflection, now rather than
// when a thread of the program waits for hooks in them.
func (r *run) fetchReflective(ctx context.Context) error {
	names := instrument.ReflectiveClasses()
	if _, err := r.session.Prefetch(ctx, func(class string) bool { return slices.Contains(names, class) }, nil); err != nil {
		return fmt.Errorf("reflection cannot be followed: %w", err)
	}
	return nil
}
