package profile

import (
	"context"
	"slices"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// expand puts hooks into what methods can call, and into the methods themselves.
// Where one cannot have a hook nobody would hear of its first call, so what it can
// call gets hooks as well.
func (r *run) expand(ctx context.Context, methods []callgraph.Method) error {
	for again := false; len(methods) > 0; again = true {
		request, hooked := r.plan(methods)
		if err := r.install(ctx, request); err != nil {
			return err
		}
		if again {
			r.late(hooked) // what could not have a hook may have called them by now
		}
		methods = r.bare(hooked)
	}
	return nil
}

// late notes that methods may have been called before their hooks came.
func (r *run) late(methods []callgraph.Method) {
	now := r.session.Now()
	for _, m := range methods {
		r.ledger.late(r.session.ID(m.Class, m.Name, m.Descriptor), now)
	}
}

// plan is what one round puts in.
func (r *run) plan(methods []callgraph.Method) (session.Request, []callgraph.Method) {
	all := r.lookAhead(methods)
	expansion := r.widen(all)
	var request session.Request
	var hooked []callgraph.Method
	for {
		var more []callgraph.Method
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
	r.lock.Lock()
	for _, m := range all {
		r.expanded[m] = true
	}
	for _, m := range r.graph.Settle(hooked) {
		r.expanded[m] = true
	}
	r.lock.Unlock()
	for _, m := range hooked {
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	return request, hooked
}

// widen expands methods, and reads the JDK's classes that they call: which of those
// methods are native is not known before.
func (r *run) widen(methods []callgraph.Method) callgraph.Expansion {
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

// ask gives a class file of the JDK's; it looks for each class once.
func (r *run) ask(class string) (file []byte, isFirst bool) {
	r.lock.Lock()
	isFirst = !r.asked[class]
	r.asked[class] = true
	r.lock.Unlock()
	if isFirst {
		file = r.library.class(class)
	}
	return file, isFirst
}

// lookAhead adds to methods those that are expanded in the same round.
func (r *run) lookAhead(methods []callgraph.Method) []callgraph.Method {
	limits := ahead(r.ledger.rounds())
	if r.scheme == Eager {
		limits = unlimited
	}
	return append(slices.Clone(methods), r.graph.Ahead(methods, limits)...)
}

func (r *run) addSites(request *session.Request, expansion callgraph.Expansion) {
	for _, site := range expansion.Sites {
		if site.Mixed {
			continue // where it reaches another method, that has a hook of its own
		}
		native := r.hook(site.Native)
		native.Flags &^= arena.Discover
		request.Sites = append(request.Sites, session.Site{
			Class: site.Caller.Class, Name: site.Caller.Name, Descriptor: site.Caller.Descriptor,
			Owner: site.Owner, Called: site.Name, CalledDescriptor: site.Descriptor, Native: native,
		})
		id := r.session.ID(native.Class, native.Name, native.Descriptor)
		r.lock.Lock()
		r.natives[id] = true
		r.lock.Unlock()
	}
	if expansion.Reflects || expansion.Handles {
		request.Reflection = true
		r.lock.Lock()
		r.reflects = true
		r.lock.Unlock()
	}
}

func (r *run) canHook(m callgraph.Method) bool {
	r.lock.Lock()
	_, cannot := r.unhookable[m.Class]
	r.lock.Unlock()
	return !cannot
}

// bare are those of methods that have no hook although they should.
func (r *run) bare(methods []callgraph.Method) []callgraph.Method {
	var bare []callgraph.Method
	for _, m := range methods {
		r.lock.Lock()
		expanded := r.expanded[m]
		r.lock.Unlock()
		if !expanded && !r.session.IsHooked(r.session.ID(m.Class, m.Name, m.Descriptor)) {
			bare = append(bare, m)
		}
	}
	return bare
}

// loading is asked about each class on its way in.
func (r *run) loading(class string, file []byte) session.Request {
	if r.skip.class(class) && !r.settings.roots.MatchClass(class) {
		return session.Request{}
	}
	added, err := r.graph.Add(file)
	if err != nil {
		return session.Request{}
	}
	var request session.Request
	r.addSites(&request, added)
	isRoot := func(name, descriptor string) bool { return r.settings.roots.Match(class, name, descriptor) }
	for _, m := range r.graph.FindIn(class, isRoot) {
		r.addRoot(m)
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	r.lock.Lock()
	reflects := r.reflects
	r.lock.Unlock()
	if reflects { // by which it may be initialised
		for _, m := range r.graph.Reflected(class, "<clinit>", "()V") {
			if m.Class == class {
				added.Methods = append(added.Methods, m)
			}
		}
	}
	r.lock.Lock()
	r.mirrored++
	for _, m := range added.Methods {
		if m.Class != class && m.Name != "<clinit>" { // that has run, or is on its way in as well
			r.pending = append(r.pending, m)
		}
	}
	r.lock.Unlock()
	if r.budget != nil {
		return request // the governor finds them when it looks deeper
	}
	mine := slices.DeleteFunc(slices.Clone(added.Methods), func(m callgraph.Method) bool { return m.Class != class })
	for _, m := range r.expandLoading(class, mine, &request) {
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	return request
}

// expandLoading expands methods of a class that is loading, as far as that leads to
// methods of the same class, and gives them all. Where nothing else becomes callable
// their first calls need not wait; else that gets hooks in the next round, which
// those calls wait for.
func (r *run) expandLoading(class string, methods []callgraph.Method, request *session.Request) []callgraph.Method {
	var others []callgraph.Method
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
	r.lock.Lock()
	defer r.lock.Unlock()
	r.due = append(r.due, others...)
	if len(others) == 0 {
		for _, m := range all {
			r.expanded[m] = true
		}
	}
	return all
}

// serve answers the calls that wait, after their callees have hooks, and puts
// hooks into what classes that loaded have made callable. It reports whether there
// was anything to do.
func (r *run) serve(ctx context.Context) (bool, error) {
	arrivals, err := r.session.Arrivals(r.answered)
	if err != nil {
		return false, err
	}
	r.lock.Lock()
	pending, due := r.pending, r.due
	r.pending, r.due = nil, nil
	r.lock.Unlock()
	if len(arrivals) == 0 && len(pending) == 0 && len(due) == 0 && !r.session.Owes() {
		return false, nil
	}
	expand, callable := r.arrived(arrivals)
	err = r.round(ctx, expand, slices.Concat(callable, due, pending))
	r.late(pending)
	if len(arrivals) > 0 {
		r.answered = arrivals[len(arrivals)-1].Ticket
		r.session.Answer(r.answered) // also where it failed: nobody waits for nothing
	}
	r.report()
	return true, err
}

// arrived gives the methods of calls that wait, and those that are about to be
// called by reflection.
func (r *run) arrived(arrivals []arena.Arrival) (expand, callable []callgraph.Method) {
	for _, a := range arrivals {
		if a.ID == 0 {
			if class, name, descriptor, ok := session.SplitMember(a.Text); ok {
				callable = append(callable, r.graph.Reflected(class, name, descriptor)...)
			}
			continue
		}
		m, known := r.session.Method(a.ID)
		method := callgraph.Method{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}
		if known && !slices.Contains(expand, method) {
			expand = append(expand, method)
		}
	}
	return expand, callable
}

// round expands methods and puts hooks into others, all in one.
func (r *run) round(ctx context.Context, expand, callable []callgraph.Method) error {
	request, hooked := r.plan(expand)
	var bare []callgraph.Method
	for _, m := range callable {
		if !r.canHook(m) {
			bare = append(bare, m)
			continue
		}
		hooked = append(hooked, m)
		request.Hooks = append(request.Hooks, r.hook(m))
	}
	if err := r.install(ctx, request); err != nil {
		return err
	}
	return r.expand(ctx, append(bare, r.bare(hooked)...))
}

// install puts hooks in and keeps account of what that took.
func (r *run) install(ctx context.Context, request session.Request) error {
	if len(request.Hooks) == 0 && len(request.Sites) == 0 && !request.Reflection && !r.session.Owes() {
		return nil
	}
	before := r.ledger.look(r.session)
	installation, err := r.session.Hook(ctx, request)
	r.ledger.add(r.session, installation, before)
	return err
}
