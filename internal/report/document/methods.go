package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// Hot is written by `sonde hot`. Shares are parts of all samples of running threads
// in the window; low and high are the bounds of the 95 % interval. docs/formats/hot.md describes it.
type Hot struct {
	Format     string                      `json:"format"`
	Version    int                         `json:"version"`
	PID        int                         `json:"pid,omitempty"`
	Recording  string                      `json:"recording,omitempty"` // the file that was read
	JDK        string                      `json:"jdk"`
	Main       string                      `json:"main,omitempty"`
	Source     string                      `json:"source"`           // kernel, flight recorder, thread dumps
	Limits     string                      `json:"limits,omitempty"` // what the source cannot see
	Bias       string                      `json:"bias,omitempty"`
	From       time.Time                   `json:"from"`
	To         time.Time                   `json:"to"`
	Samples    int                         `json:"samples"`
	Waiting    int                         `json:"samplesOfWaiting"` // left out
	Incomplete int                         `json:"samplesWithIncompleteStacks,omitempty"`
	Code       map[hotspots.Code]cct.Share `json:"code"` // what running threads run
	Methods    []HotMethod                 `json:"methods"`
	Threads    []HotThread                 `json:"threads"`
	Wall       bool                        `json:"wall,omitempty"`   // waiting threads are part of the result
	Places     []HotPlace                  `json:"places,omitempty"` // with --wall
	Notes      []string                    `json:"notes,omitempty"`
	Unit       time.Duration               `json:"unitNanos,omitempty"` // processor time that a sample stands for
	Tree       *HotTree                    `json:"tree,omitempty"`      // all stacks; missing in the objects of intervals
}

// HotTree is the stacks of a result, from the outermost methods down.
type HotTree struct {
	Methods []cct.Method `json:"methods"`
	Nodes   []node       `json:"nodes"` // calls are samples; times are estimates
}

// HotFormat is the format of hot spots.
const HotFormat = "sonde-hot"

const hotVersion = 1

// HotMethod is a method that was sampled, or other code, which has no class.
type HotMethod struct {
	Class      string             `json:"class,omitempty"`
	Method     string             `json:"method"`
	Descriptor string             `json:"descriptor,omitempty"` // missing in thread dumps
	Self       cct.Share          `json:"self"`
	Total      cct.Share          `json:"total"`
	Samples    int                `json:"samples"`         // with it on top
	Lines      []hotspots.Line    `json:"lines,omitempty"` // of those samples
	Kinds      map[string]float64 `json:"kinds,omitempty"` // parts of those samples
}

// HotThread is a thread that was sampled, or all threads of the JVM of one kind.
type HotThread struct {
	Name    string               `json:"name"`
	ID      int64                `json:"id"`
	OSID    int64                `json:"osId,omitempty"`
	Virtual bool                 `json:"virtual,omitempty"`
	Kind    jfr.ThreadKind       `json:"kind,omitempty"`    // of threads of the JVM: GC, JIT compiler, VM
	Threads int                  `json:"threads,omitempty"` // of that kind
	Share   cct.Share            `json:"share"`
	Samples int                  `json:"samples"`
	Waiting int                  `json:"samplesOfWaiting"`
	CPU     *float64             `json:"cpu,omitempty"`   // processors used
	Top     cct.Method           `json:"mostIn,omitzero"` // the method with most of its samples
	Waits   map[jfr.Wait]float64 `json:"waits,omitempty"` // with --wall: threads that waited on average, by what they waited for
}

// HotPlace is where threads run, or wait for something.
type HotPlace struct {
	Class      string    `json:"class,omitempty"`
	Method     string    `json:"method"`
	Descriptor string    `json:"descriptor,omitempty"`
	Wait       jfr.Wait  `json:"waitsFor,omitempty"` // missing if they run
	Threads    float64   `json:"threads"`            // on average
	Share      float64   `json:"share"`              // of the time of all threads
	Samples    int       `json:"samples"`
	Locks      []HotLock `json:"locks,omitempty"` // that they wait for, if they are known
}

// HotLock is an object that threads wait for.
type HotLock struct {
	Class  string      `json:"class,omitempty"`  // of the object
	Holder *cct.Method `json:"holder,omitempty"` // where the thread was that had it, if that is known
	Share  float64     `json:"share"`            // of the time of the place
}

// NewHotPlaces returns the places of a document.
func NewHotPlaces(found []hotspots.Place) (places []HotPlace) {
	for _, p := range found {
		place := HotPlace{
			Class: p.Label.Ref().ClassName(), Method: p.Label.Name, Descriptor: p.Label.Descriptor, Wait: p.Wait, Threads: p.Threads, Share: p.Part, Samples: p.Samples,
		}
		for _, l := range p.Locks {
			lock := HotLock{Class: descriptor.ExternalName(l.Class), Share: l.Part}
			if l.In != (cct.Method{}) {
				lock.Holder = &l.In
			}
			place.Locks = append(place.Locks, lock)
		}
		places = append(places, place)
	}
	return places
}

// NewHot returns the document of a result with some of its methods, and without its stacks.
func NewHot(r *hotspots.Result, methods []hotspots.Method) *Hot {
	d := &Hot{
		Format: HotFormat, Version: hotVersion, PID: r.Target.PID, Recording: r.Recording, JDK: r.Target.JDK, Main: r.Target.Command, Source: r.Source, Limits: r.Limits, Bias: r.Bias,
		From: r.From, To: r.To, Samples: r.Samples, Waiting: r.Waiting, Incomplete: r.Incomplete, Code: r.Code,
		Methods: []HotMethod{}, Threads: []HotThread{}, Wall: r.Wall, Notes: r.Notes, Unit: r.Unit,
	}
	for _, m := range methods {
		d.Methods = append(d.Methods, HotMethod{
			Class: m.Label.Ref().ClassName(), Method: m.Label.Name, Descriptor: m.Label.Descriptor,
			Self: m.Self, Total: m.Total, Samples: m.Samples, Lines: m.Lines, Kinds: m.Kinds,
		})
	}
	for _, t := range r.Threads {
		row := HotThread{
			Name: t.Name, ID: t.JavaID, OSID: t.OSID, Virtual: t.Virtual, Kind: t.Group,
			Share: t.Share, Samples: t.Samples, Waiting: t.Waiting, Top: t.Top, Waits: t.Waits,
		}
		if t.Group != jfr.ProgramThread {
			row.Threads = t.Count
		}
		if t.CPU >= 0 {
			row.CPU = &t.CPU
		}
		d.Threads = append(d.Threads, row)
	}
	if r.Wall {
		d.Places = NewHotPlaces(r.Places())
	}
	return d
}

// WithTree adds the stacks of the result.
func (d *Hot) WithTree(r *hotspots.Result) *Hot {
	tree := r.Tree(r.Wall)
	d.Tree = &HotTree{notNil(tree.Methods), nodeList(tree.Top)}
	return d
}

// ErrNotHot is the error for JSON that does not hold hot spots with their stacks.
var ErrNotHot = errors.New("this JSON has no hot spots with their stacks: write it with sonde hot -o FILE.json")

// ReadHot reads hot spots. It checks every index.
func ReadHot(r io.Reader) (*hotspots.Result, error) {
	var d Hot
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotHot, err)
	}
	switch {
	case d.Format != HotFormat || d.Tree == nil:
		return nil, ErrNotHot
	case d.Version != hotVersion:
		return nil, &VersionError{Version: d.Version, Known: hotVersion}
	}
	top, err := linkNodes(d.Tree.Nodes, len(d.Tree.Methods))
	if err != nil {
		return nil, err
	}
	t := hotspots.Table{From: d.From, To: d.To, Samples: d.Samples, Waiting: d.Waiting, Incomplete: d.Incomplete, Unit: d.Unit, Code: d.Code}
	for _, m := range d.Methods {
		label := labelOf(m.Class, m.Method, m.Descriptor)
		t.Methods = append(t.Methods, hotspots.Method{
			Method: &jfr.Method{Class: label.Class, Name: label.Name, Descriptor: label.Descriptor}, Label: label,
			Self: m.Self, Total: m.Total, Samples: m.Samples, Lines: m.Lines, Kinds: m.Kinds,
		})
	}
	for _, th := range d.Threads {
		row := hotspots.Thread{
			Thread: &jfr.Thread{JavaID: th.ID, OSID: th.OSID, Name: th.Name, Virtual: th.Virtual}, Group: th.Kind, Count: max(1, th.Threads),
			Share: th.Share, Samples: th.Samples, Waiting: th.Waiting, CPU: -1, Top: th.Top, Waits: th.Waits,
		}
		if th.CPU != nil {
			row.CPU = *th.CPU
		}
		t.Threads = append(t.Threads, row)
	}
	var places []hotspots.Place
	for _, p := range d.Places {
		place := hotspots.Place{Label: labelOf(p.Class, p.Method, p.Descriptor), Wait: p.Wait, Threads: p.Threads, Part: p.Share, Samples: p.Samples}
		for _, l := range p.Locks {
			lock := hotspots.Lock{Class: descriptor.InternalName(l.Class), Part: l.Share}
			if l.Holder != nil {
				lock.In = *l.Holder
			}
			place.Locks = append(place.Locks, lock)
		}
		places = append(places, place)
	}
	return &hotspots.Result{
		Table: hotspots.Restored(t, &hotspots.Tree{Methods: d.Tree.Methods, Top: top}, places), Target: cct.Target{PID: d.PID, Command: d.Main, JDK: d.JDK},
		Recording: d.Recording, Source: d.Source, Limits: d.Limits, Bias: d.Bias, Wall: d.Wall, Notes: d.Notes,
	}, nil
}

// labelOf returns a method whose class is written with dots.
func labelOf(class, name, descriptor string) cct.Method {
	return cct.Method{Class: strings.ReplaceAll(class, ".", "/"), Name: name, Descriptor: descriptor}
}

// Proposal is written by `sonde observe --json`. Shares, budget and costs are parts of 1.
type Proposal struct {
	PID        int             `json:"pid,omitempty"` // missing for archives
	JDK        string          `json:"jdk,omitempty"`
	Main       string          `json:"main,omitempty"`
	Files      []string        `json:"files,omitempty"`
	Classes    int             `json:"classesRead"`
	Budget     float64         `json:"budget,omitempty"`
	Cost       float64         `json:"expectedCost"`
	Coverage   float64         `json:"coverage"`
	CallNanos  float64         `json:"callNanos,omitempty"`
	Processors float64         `json:"processors,omitempty"` // that the program used
	Samples    int             `json:"samples"`
	Seconds    float64         `json:"sampledSeconds,omitempty"`
	Counted    int             `json:"methodsCounted"`
	Waited     float64         `json:"settlingSeconds,omitempty"` // longer than asked for
	IsCut      bool            `json:"interrupted,omitempty"`     // while calls were counted
	Bias       string          `json:"bias,omitempty"`
	Probes     []ProposedProbe `json:"probes"`
	NotCovered []NotCovered    `json:"notCovered,omitempty"`
	LeftOut    []NotProposed   `json:"leftOut,omitempty"`
	More       int             `json:"methodsBeyondBound,omitempty"`
	YAML       string          `json:"yaml"`
	Applied    *Trial          `json:"applied,omitempty"`
}

// ProposedProbe is a probe of the proposed file.
type ProposedProbe struct {
	Name    string           `json:"name"`
	Reason  string           `json:"reason"`
	Why     string           `json:"why"`
	Methods []ProposedMethod `json:"methods"`
}

// ProposedMethod is a method of a proposed probe.
type ProposedMethod struct {
	Pattern   string        `json:"pattern"`
	Share     float64       `json:"share"`               // of the samples in which it is above the leaf
	Leaf      float64       `json:"leafShare,omitempty"` // of the samples in which it is only the leaf
	PerSecond float64       `json:"callsPerSecond"`
	MeanNanos int64         `json:"meanNanos,omitempty"`
	Cost      float64       `json:"cost"`
	Timed     uint32        `json:"timedOneIn,omitempty"` // missing if all calls are timed
	Entry     string        `json:"takesRequestsBy,omitempty"`
	Uses      []suggest.Use `json:"uses,omitempty"`
	Blocked   float64       `json:"threadsBlocked,omitempty"`
	Network   float64       `json:"threadsWaitingForNetwork,omitempty"`
	Files     float64       `json:"threadsWaitingForFiles,omitempty"`
}

// NotCovered is a part of the samples that no probe covers.
type NotCovered struct {
	Below string  `json:"below"`
	Share float64 `json:"share"`
}

// NotProposed is a method that was considered and left out.
type NotProposed struct {
	Method string  `json:"method"`
	Share  float64 `json:"share"`
	Why    string  `json:"why"`
}

// Trial is what the proposed probes cost and covered.
type Trial struct {
	Seconds    float64      `json:"seconds"`
	Methods    int          `json:"methods"`
	Calls      uint64       `json:"calls"`
	Cost       float64      `json:"cost"`
	InBudget   bool         `json:"inBudget"`
	Coverage   float64      `json:"coverage"`
	Samples    int          `json:"samples"`
	NotCovered []NotCovered `json:"notCovered,omitempty"`
	LeftAlone  []string     `json:"leftAlone,omitempty"`
}

// NewProposal describes a proposal and its trial, which may be nil.
func NewProposal(p *suggest.Proposal, t *suggest.Trial) Proposal {
	d := Proposal{
		PID: p.PID, JDK: p.JDK, Main: p.Main, Files: p.Inputs, Classes: p.Read, Budget: p.Budget, Cost: p.Cost, Coverage: p.Coverage, CallNanos: p.Nanos,
		Processors: p.Use, Samples: p.Samples, Seconds: p.Sampled.Seconds(), Counted: p.Counted, Waited: p.Waited.Seconds(), IsCut: p.IsCut, Bias: p.Bias, More: p.More, YAML: string(p.YAML()),
		NotCovered: newNotCovered(p.Bare),
	}
	for _, line := range p.Lines() {
		one := ProposedProbe{Name: line.Name, Reason: line.Reason, Why: string(line.Choices[0].Why)}
		for i, c := range line.Choices {
			one.Methods = append(one.Methods, ProposedMethod{
				Pattern: line.Patterns[i], Share: c.Share, Leaf: c.Leaf, PerSecond: c.PerSecond, MeanNanos: int64(c.Mean), Cost: c.Takes(), Timed: c.Sample(), Entry: c.Entry,
				Uses: c.Uses, Blocked: c.Blocked, Network: c.Network, Files: c.Files,
			})
		}
		d.Probes = append(d.Probes, one)
	}
	for _, left := range p.Left {
		d.LeftOut = append(d.LeftOut, NotProposed{left.Method.QualifiedName(), left.Share, left.Why})
	}
	if t != nil {
		d.Applied = &Trial{
			Seconds: t.Took.Seconds(), Methods: t.Methods, Calls: t.Calls, Cost: t.Cost, InBudget: t.Cost <= p.Budget, Coverage: t.Coverage,
			Samples: t.Samples, NotCovered: newNotCovered(t.Bare), LeftAlone: t.Left,
		}
	}
	return d
}

func newNotCovered(bare []suggest.Part) (all []NotCovered) {
	for _, b := range bare {
		all = append(all, NotCovered{b.Method.QualifiedName(), b.Share})
	}
	return all
}

// Callees is written by `sonde callees --json`.
type Callees struct {
	PID       int             `json:"pid"`
	JDK       string          `json:"jdk"`
	Main      string          `json:"main,omitempty"`
	Patterns  []string        `json:"patterns"`
	Levels    int             `json:"levels"`
	AsOf      time.Time       `json:"asOf"`
	Holder    string          `json:"heldBy,omitempty"` // then the classes are from an earlier look
	Classes   int             `json:"classesLoaded"`
	Fileless  int             `json:"classesWithoutFile"`
	Methods   int             `json:"methods"`    // distinct ones in the tree
	Cut       int             `json:"calleesCut"` // kept out by bounds
	RootsCut  int             `json:"rootsCut"`
	Watch     *Watch          `json:"watch,omitempty"`
	Roots     []Callee        `json:"roots"`
	Loaders   []CalleesLoader `json:"loaders"`
	Remarks   []string        `json:"remarks,omitempty"`
	JDKFollow bool            `json:"jdkFollowed"`
}

// Watch is the time in which calls were counted.
type Watch struct {
	Seconds   float64 `json:"seconds"`
	Methods   int     `json:"methods"`
	Unwatched int     `json:"methodsBeyondHooks"`
}

// Callee is a method at one place of the tree.
type Callee struct {
	Class      string  `json:"class"`
	Method     string  `json:"method"`
	Descriptor string  `json:"descriptor"`
	Calls      []Call  `json:"calledBy,omitempty"` // how its parent calls it
	State      string  `json:"state"`              // not watched, instrumented, called, never called, no hook
	Reason     string  `json:"reason,omitempty"`   // of no hook
	HookOf     string  `json:"hookOf,omitempty"`   // another Sonde
	Seen       *uint64 `json:"calls,omitempty"`    // if they were counted
	Bound
	Bytes    int         `json:"bytes"`
	Loaders  []string    `json:"loaders"`
	JDK      bool        `json:"jdk"`
	NotBelow string      `json:"notFollowed,omitempty"` // levels, jdk, elsewhere, recursive
	Reflects bool        `json:"reflects,omitempty"`
	Handles  bool        `json:"invokesHandles,omitempty"`
	Callees  []Callee    `json:"callees,omitempty"`
	Cuts     []CalleeCut `json:"cut,omitempty"`
}

// Call is how a method is called, and by which name.
type Call struct {
	Kind       string `json:"kind"`
	Class      string `json:"class"`
	Method     string `json:"method,omitempty"`
	Descriptor string `json:"descriptor,omitempty"`
	ByLambda   bool   `json:"byLambda,omitempty"`
	ByProxy    bool   `json:"byProxy,omitempty"`
}

// CalleeCut counts callees that are not shown.
type CalleeCut struct {
	Methods int    `json:"methods"`
	By      string `json:"by"` // overrides, breadth, nodes
	Call    *Call  `json:"call,omitempty"`
}

// CalleesLoader is a class loader.
type CalleesLoader struct {
	Loader  string `json:"loader"` // boot, or a number
	Classes int    `json:"classes"`
	Example string `json:"example"`
}

// NewCallees describes a tree.
func NewCallees(r *calltree.Result, o *calltree.Options, patterns []string) Callees {
	d := Callees{
		PID: r.PID, JDK: r.JDK, Main: r.Main, Patterns: patterns, Levels: o.Limits.Levels, AsOf: r.AsOf.Round(time.Millisecond),
		Holder: r.Holder, Classes: r.Classes, Fileless: r.Fileless, Methods: r.Methods, Cut: r.Cut, RootsCut: r.RootsCut,
		Roots: []Callee{}, Loaders: []CalleesLoader{}, Remarks: r.Remarks, JDKFollow: o.Limits.JDK,
	}
	if o.Watch > 0 {
		d.Watch = &Watch{r.WatchedFor.Seconds(), r.Watched, r.Unwatched}
	}
	for _, root := range r.Roots {
		d.Roots = append(d.Roots, newCallee(root))
	}
	for _, l := range r.Loaders {
		d.Loaders = append(d.Loaders, CalleesLoader{LoaderName(l.Number), l.Classes, strings.ReplaceAll(l.Example, "/", ".")})
	}
	return d
}

func newCallee(n *calltree.Node) Callee {
	d := Callee{
		Class: strings.ReplaceAll(n.Class, "/", "."), Method: n.Name, Descriptor: n.Descriptor, State: n.State.String(), Reason: n.Reason,
		HookOf: n.Holder, Bytes: n.Bytes, Loaders: []string{}, JDK: n.JDK, NotBelow: n.Stop.String(), Reflects: n.Reflects, Handles: n.Handles,
	}
	if n.State == calltree.Called || n.State == calltree.NeverCalled || n.State == calltree.Instrumented {
		d.Seen, d.Bound = &n.Calls, NewBound(n.LowerBound)
	}
	for _, l := range n.Loaders {
		d.Loaders = append(d.Loaders, LoaderName(l))
	}
	for _, v := range n.Via {
		d.Calls = append(d.Calls, newCall(v))
	}
	for _, callee := range n.Callees {
		d.Callees = append(d.Callees, newCallee(callee))
	}
	for _, cut := range n.Cuts {
		c := CalleeCut{Methods: cut.Methods, By: cut.By.String()}
		if cut.Via.Declared != (classfile.MethodRef{}) {
			call := newCall(cut.Via)
			c.Call = &call
		}
		d.Cuts = append(d.Cuts, c)
	}
	return d
}

func newCall(v calltree.Via) Call {
	return Call{v.Kind.String(), strings.ReplaceAll(v.Declared.Class, "/", "."), v.Declared.Name, v.Declared.Descriptor, v.ByLambda, v.ByProxy}
}

// LoaderName returns the name of the class loader with a number.
func LoaderName(number uint32) string {
	if number == 0 {
		return "boot"
	}
	return fmt.Sprint(number)
}
