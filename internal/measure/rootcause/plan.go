package rootcause

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A planner decides which methods on the paths to hot spots get hooks, and where. It does
// no I/O: the search feeds it stacks and class files.
type planner struct {
	levels    int
	boundary  []string // prefixes of classes at which paths end
	own       own.Packages
	price     price
	stacks    *stacks
	files     map[string]session.LoadedClass
	subjects  map[classfile.MethodRef]*subject
	order     []*subject                           // as they came
	claimed   map[session.Site]classfile.MethodRef // calls that have a hook, and for which method
	redefined map[string]int                       // by class, in this climb
}

func newPlanner(o Options) planner {
	return planner{
		levels: o.Levels, boundary: o.boundary(), stacks: newStacks(), files: make(map[string]session.LoadedClass),
		subjects: make(map[classfile.MethodRef]*subject), claimed: make(map[session.Site]classfile.MethodRef), redefined: make(map[string]int),
	}
}

// maxClasses bounds how many classes are redefined for a climb, those on the heaviest
// paths first.
const maxClasses = 40

// nodes returns the nodes on the paths to spots that are worth a climb: those of the program's
// own methods first, then the heaviest.
func (p *planner) nodes(spots []*spot) (nodes []*node) {
	for _, s := range spots {
		s.visit(func(n *node) {
			if n.level <= p.levels && !p.isBeyond(n) {
				nodes = append(nodes, n)
			}
		})
	}
	slices.SortStableFunc(nodes, func(a, b *node) int {
		return cmp.Or(trueFirst(p.own.Has(a.method.Class), p.own.Has(b.method.Class)),
			cmp.Compare(b.weight, a.weight), cmp.Compare(a.level, b.level), a.method.Compare(b.method))
	})
	return nodes
}

// plan decides which methods of nodes get hooks, and where. The class files of the nodes
// must be known.
func (p *planner) plan(spots []*spot, nodes []*node) (planned []*subject) {
	lightest := math.Inf(1)
	for _, s := range spots {
		lightest = min(lightest, s.minWeight())
	}
	weights := make(map[string]float64)
	for _, n := range nodes {
		if class := n.method.Class; p.deserves(spots, n) && !callgraph.IsJDK(class) && !p.isInlined(p.subject(n.method)) { // these get no hook anyway
			weights[class] = max(weights[class], n.weight)
		}
	}
	p.stacks.judge(weights, p.price, p.own.Has)
	classes := make(map[string]bool)
	for _, n := range nodes {
		s := p.subject(n.method)
		if s.state != Seen || slices.Contains(planned, s) {
			continue
		}
		if !p.deserves(spots, n) {
			s.leave("it belongs to a library or the JDK; --own adds its package")
			continue
		}
		if !p.place(s, n, lightest) {
			continue
		}
		fresh := slices.DeleteFunc(s.classes(), func(class string) bool { return classes[class] })
		if len(classes)+len(fresh) > maxClasses {
			s.leave(fmt.Sprintf("at most %d classes get hooks at once, because changing a class slows the program; classes on heavier call paths come first", maxClasses))
			continue
		}
		for _, class := range fresh {
			classes[class] = true
		}
		planned = append(planned, s)
	}
	return planned
}

// deserves reports whether a hook in the method of a node helps to find a cause: in the program's
// own methods, in a hot method, and where most stacks are cut off, so that only a hook shows
// who calls.
func (p *planner) deserves(spots []*spot, n *node) bool {
	return p.own.Has(n.method.Class) || n.callee == nil || isCut(spots, n.method)
}

// refuse leaves all methods on the paths to spots without hooks.
func (p *planner) refuse(spots []*spot, reason string) {
	for _, n := range p.nodes(spots) {
		p.subject(n.method).leave(reason)
	}
	for _, s := range spots {
		s.climbed, s.above = true, reason
	}
}

// isBoundary reports whether paths end at a method because the options say so.
func (p *planner) isBoundary(m classfile.MethodRef) bool {
	return callgraph.HasPrefix(m.Class, p.boundary)
}

// isBeyond reports whether a path has passed a boundary before it reaches a node.
func (p *planner) isBeyond(n *node) bool {
	for below := n.callee; below != nil; below = below.callee {
		if p.isBoundary(below.method) {
			return true
		}
	}
	return false
}

func (p *planner) subject(m classfile.MethodRef) *subject {
	s := p.subjects[m]
	if s == nil {
		s = &subject{
			MethodRef: m, exact: m, state: Seen, native: p.stacks.native[m],
			callers: make(map[classfile.MethodRef]uint64), nanos: make(map[classfile.MethodRef]uint64),
		}
		p.subjects[m] = s
		p.order = append(p.order, s)
	}
	if s.exact.Descriptor == "" {
		s.exact.Descriptor = onlyDescriptor(p.files[m.Class].File, m.Name)
	}
	return s
}

// place decides where a subject's hooks go; false if none can.
func (p *planner) place(s *subject, at *node, lightest float64) bool {
	if s.reason = p.obstacle(s); s.reason == "" {
		s.hooked = inMethod
		return true
	}
	if s.native && !callgraph.TooCheapToHook(s.MethodRef) {
		p.placeAroundCalls(s, at, lightest)
	}
	if len(s.sites) == 0 {
		// A hook around calls of a method that is not native would cost what one in the method
		// does. Stacks show its callers: the climb begins with them.
		s.leave(s.reason)
		return false
	}
	s.hooked = aroundCalls
	return true
}

// placeAroundCalls finds the calls of a subject in those of its callers that can be
// changed.
func (p *planner) placeAroundCalls(s *subject, at *node, lightest float64) {
	for _, next := range at.callers {
		caller := p.subject(next.method)
		if next.weight < lightest || p.obstacle(caller) != "" {
			continue
		}
		for _, site := range sitesIn(p.files[caller.Class].File, caller.MethodRef, s.MethodRef, p.stacks.edges[edge{caller.MethodRef, s.MethodRef}]) {
			if holder, claimed := p.claimed[site]; !claimed || holder == s.MethodRef {
				p.claimed[site] = s.MethodRef // of two methods that one call reaches, the heavier
				s.sites = append(s.sites, site)
			}
		}
	}
}

// obstacle returns why a method can have no hook of its own; "" if it can.
func (p *planner) obstacle(s *subject) string {
	file, known := p.files[s.Class]
	switch {
	case s.native:
		return "it is native"
	case callgraph.IsJDK(s.Class):
		return "its class belongs to the JDK, whose methods are inlined in many places"
	case p.stacks.shed[s.Class] != "":
		return p.stacks.shed[s.Class]
	case !known:
		return "its class is hidden, or not loaded any more"
	case file.Reason != "":
		return file.Reason
	case file.File == nil:
		return "its loader finds no class file for it"
	case s.exact.Descriptor == "":
		return "it is overloaded, and thread dumps do not say which overload it is; --sampler recorder does"
	case s.Name == "<clinit>":
		return "a static initialiser runs once"
	case s.Name == "main" && s.exact.Descriptor == "([Ljava/lang/String;)V":
		return "a program begins with it once"
	case p.isInlined(s):
		return "compilers inline it: a hook would prevent that, and cost more than the method itself"
	}
	return ""
}

// onlyDescriptor returns the descriptor of the only method with a name; "" if there are several.
func onlyDescriptor(file []byte, name string) (descriptor string) {
	class, err := classfile.Parse(file)
	if err != nil {
		return ""
	}
	for i := range class.Methods {
		m := &class.Methods[i]
		found, its, err := class.MemberName(m)
		if err != nil || string(found) != name || m.Access&classfile.AccBridge != 0 {
			continue
		}
		if descriptor != "" {
			return ""
		}
		descriptor = string(its)
	}
	return descriptor
}

// isInlined reports whether a method is, or certainly will be, inlined. A hook might make
// it too large for that, and the program slower even while the hook is off. Stacks show
// its callers anyway. A method with a loop is worth a hook.
func (p *planner) isInlined(s *subject) bool {
	class, err := classfile.Parse(p.files[s.Class].File)
	if err != nil {
		return false
	}
	body := bodyOf(class, s.exact)
	if body == nil || len(body) > overhead.InlinedCode && !p.stacks.isInlined(s.MethodRef) {
		return false
	}
	return !callgraph.ShapeOf(body).Loops
}

// minSurprise is the part of a method's calls that a caller must make to count.
const minSurprise = 0.05

// surprises returns the callers that hooks have met and stacks have not.
func (p *planner) surprises(spots []*spot) (met []classfile.MethodRef) {
	for _, s := range p.order {
		isCut := isCut(spots, s.MethodRef)
		for m, hits := range s.callers {
			isNew := isCut || p.stacks.edges[edge{m, s.MethodRef}] == nil
			if isNew && isMethod(m) && float64(hits) >= minSurprise*float64(s.drawn) && !slices.Contains(met, m) {
				met = append(met, m)
			}
		}
	}
	slices.SortFunc(met, classfile.MethodRef.Compare)
	return met
}

// isCut reports whether most stacks through a method end there because the sampler did not see
// more of them.
func isCut(spots []*spot, m classfile.MethodRef) bool {
	var cut, all float64
	for _, s := range spots {
		s.visit(func(n *node) {
			if n.method == m {
				cut, all = cut+n.cut, all+n.weight
			}
		})
	}
	return cut > all/2
}

// planSurprises decides which of the surprising callers get hooks: those whose classes
// were not redefined yet. Their class files must be known.
func (p *planner) planSurprises(met []classfile.MethodRef) (planned []*subject) {
	for _, m := range met {
		s := p.subject(m)
		if s.state != Seen {
			continue
		}
		reason := p.obstacle(s)
		if p.redefined[m.Class] > 0 && reason == "" {
			reason = "it was on no sampled stack, and its class was already changed once in this search"
		}
		if reason != "" {
			s.leave(reason)
			continue
		}
		s.hooked = inMethod
		planned = append(planned, s)
	}
	return planned
}

// A subject is a method that the search knows, and what became of it.
type subject struct {
	classfile.MethodRef                     // as on stacks: thread dumps have no descriptors
	exact               classfile.MethodRef // with its descriptor, if that is known
	id                  uint32
	native              bool
	state               State
	reason              string // why it has no hook
	hooked              placement
	sites               []session.Site // if its hooks are around calls
	isIn                bool           // its hooks are woven
	flags               arena.Flags    // of its hooks while they are on
	period              uint32         // of this number of calls, one has its caller identified

	on       time.Duration // how long its hook was on, until since
	since    time.Time
	measured *Measured
	calls    uint64                         // that its hook saw
	drawn    uint64                         // of those, calls whose caller is known
	callers  map[classfile.MethodRef]uint64 // of those, by caller
	nanos    map[classfile.MethodRef]uint64 // their times, by caller
}

// A placement says where the hooks of a subject are.
type placement int

const (
	nowhere placement = iota
	inMethod
	aroundCalls
)

func (s *subject) leave(reason string) { s.state, s.reason = Left, reason }

// request adds a setting of a subject's hooks.
func (s *subject) request(to *session.Request, flags arena.Flags, period uint32) {
	hook := session.Hook{MethodRef: s.exact, Flags: flags, Period: period}
	if s.hooked == inMethod {
		to.Hooks = append(to.Hooks, hook)
		return
	}
	if flags != 0 {
		hook.Flags |= arena.Here
	}
	for _, site := range s.sites {
		site.Native = hook
		to.Sites = append(to.Sites, site)
	}
}

// classes returns the classes that a subject's hooks are woven into.
func (s *subject) classes() (all []string) {
	if s.hooked == inMethod {
		return []string{s.Class}
	}
	for _, site := range s.sites {
		all = append(all, site.Caller.Class)
	}
	return all
}

// sitesIn finds the calls of a method in a caller's code, at the offsets that stacks show.
func sitesIn(file []byte, caller, callee classfile.MethodRef, offsets map[int]bool) (sites []session.Site) {
	class, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	body := bodyOf(class, caller)
	for at := range offsets {
		called, is := callAt(class, body, at)
		site := session.Site{Caller: caller, Called: called}
		if is && called.Member() == callee.Member() && !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites
}

// callAt returns the method that the instruction at an offset of a method's code calls.
func callAt(class *classfile.Class, body []byte, at int) (classfile.MethodRef, bool) {
	isInvoke := at >= 0 && at+2 < len(body) && opcode.Op(body[at]) >= opcode.Invokevirtual && opcode.Op(body[at]) <= opcode.Invokeinterface
	if !isInvoke {
		return classfile.MethodRef{}, false
	}
	owner, name, descriptor, err := class.Pool.Member(uint16(body[at+1])<<8 | uint16(body[at+2]))
	if err != nil || len(name) == 0 || name[0] == '<' {
		return classfile.MethodRef{}, false
	}
	return classfile.MethodRef{Class: string(owner), Name: string(name), Descriptor: string(descriptor)}, true
}

// bodyOf returns the code of a method; nil if it has none.
func bodyOf(class *classfile.Class, m classfile.MethodRef) []byte {
	member := class.Method(m.Name, m.Descriptor)
	if member == nil {
		return nil
	}
	code, err := class.Code(member.Attributes)
	if err != nil || code == nil {
		return nil
	}
	return code.Bytes
}

// A price estimates the work that a program loses when classes are redefined, because code that
// was discarded runs slowly until it is compiled again. The first estimate comes from what the
// compilers have done so far. What a batch has really cost corrects it.
type price struct {
	all         time.Duration // the loss if all hot code is discarded
	discardsAll bool          // the next redefinition does that, whatever it changes
	limit       time.Duration // how much more may be lost
}

// priceOf estimates the loss in a JVM that has no hooks yet.
func priceOf(jvm *process.JVM, options Options) price {
	meter := cost.Watch(jvm)
	defer meter.Close()
	now, _ := meter.Read() // in an empty reading the compilers' time is unknown
	return price{
		all: overhead.RecompileLoss(now.Compiled()), discardsAll: process.Local.DiscardsAll(jvm),
		limit: overhead.LossLimit(options.Budget, options.Duration),
	}
}

// of returns the loss if classes are redefined on which a part of the running code depends.
func (p price) of(heat float64) time.Duration {
	return overhead.RedefinitionLoss(p.discardsAll, heat, p.all)
}

// refusal returns why no class may be redefined; "" if some may.
func (p price) refusal() string {
	if p.of(0) <= p.limit {
		return ""
	}
	return fmt.Sprintf("the first change of a class makes this JVM discard all compiled code, about %s of work, and --budget allows %s; a JVM that is started with -javaagent (sonde agent-jar) does not do that",
		format.Duration(p.all), format.Duration(p.limit))
}

// leastHeat is the part of the running code that a batch must have discarded to show what
// discarding all of it would cost.
const leastHeat = 0.05

// pay takes in what a batch has cost, on whose classes a part of the running code depended.
func (p *price) pay(heat float64, spent time.Duration) {
	p.limit -= spent
	if p.discardsAll {
		p.discardsAll, heat = false, 1
	}
	if heat >= leastHeat {
		p.all = time.Duration(float64(spent) / heat)
	}
}
