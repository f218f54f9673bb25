package cli

import (
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
)

// calleesJSON is what `sonde callees --json` writes.
type calleesJSON struct {
	PID       int                 `json:"pid"`
	JDK       string              `json:"jdk"`
	Main      string              `json:"main,omitempty"`
	Patterns  []string            `json:"patterns"`
	Levels    int                 `json:"levels"`
	AsOf      time.Time           `json:"asOf"`
	Holder    string              `json:"heldBy,omitempty"` // then the classes are of an earlier look
	Classes   int                 `json:"classesLoaded"`
	Fileless  int                 `json:"classesWithoutFile"`
	Methods   int                 `json:"methods"`    // distinct ones in the tree
	Cut       int                 `json:"calleesCut"` // kept out by bounds
	RootsCut  int                 `json:"rootsCut"`
	Watch     *watchJSON          `json:"watch,omitempty"`
	Roots     []calleeJSON        `json:"roots"`
	Loaders   []calleesLoaderJSON `json:"loaders"`
	Remarks   []string            `json:"remarks,omitempty"`
	JDKFollow bool                `json:"jdkFollowed"`
}

type watchJSON struct {
	Seconds   float64 `json:"seconds"`
	Methods   int     `json:"methods"`
	Unwatched int     `json:"methodsBeyondHooks"`
}

// calleeJSON is a method at one place of the tree.
type calleeJSON struct {
	Class      string     `json:"class"`
	Method     string     `json:"method"`
	Descriptor string     `json:"descriptor"`
	Calls      []callJSON `json:"calledBy,omitempty"` // how its parent calls it
	State      string     `json:"state"`              // not watched, instrumented, seen called, never called, cannot be
	Reason     string     `json:"reason,omitempty"`   // of cannot be
	HookOf     string     `json:"hookOf,omitempty"`   // another Sonde
	Seen       *uint64    `json:"calls,omitempty"`    // where they were counted
	lowerBoundJSON
	Bytes    int             `json:"bytes"`
	Loaders  []string        `json:"loaders"`
	JDK      bool            `json:"jdk"`
	NotBelow string          `json:"notFollowed,omitempty"` // levels, jdk, elsewhere, recursive
	Reflects bool            `json:"reflects,omitempty"`
	Handles  bool            `json:"invokesHandles,omitempty"`
	Callees  []calleeJSON    `json:"callees,omitempty"`
	Cuts     []calleeCutJSON `json:"cut,omitempty"`
}

// callJSON is a call with what it names.
type callJSON struct {
	Kind       string `json:"kind"`
	Class      string `json:"class"`
	Method     string `json:"method,omitempty"`
	Descriptor string `json:"descriptor,omitempty"`
	ByLambda   bool   `json:"byLambda,omitempty"`
}

type calleeCutJSON struct {
	Methods int       `json:"methods"`
	By      string    `json:"by"` // overrides, breadth, nodes
	Call    *callJSON `json:"call,omitempty"`
}

type calleesLoaderJSON struct {
	Loader  string `json:"loader"` // boot, or a number
	Classes int    `json:"classes"`
	Example string `json:"example"`
}

func describeCallees(r *calltree.Result, c *calling) calleesJSON {
	d := calleesJSON{
		PID: r.PID, JDK: r.JDK, Main: r.Main, Patterns: c.patterns, Levels: c.Limits.Levels, AsOf: r.AsOf.Round(time.Millisecond),
		Holder: r.Holder, Classes: r.Classes, Fileless: r.Fileless, Methods: r.Methods, Cut: r.Cut, RootsCut: r.RootsCut,
		Roots: []calleeJSON{}, Loaders: []calleesLoaderJSON{}, Remarks: r.Remarks, JDKFollow: c.Limits.JDK,
	}
	if c.Watch > 0 {
		d.Watch = &watchJSON{r.WatchedFor.Seconds(), r.Watched, r.Unwatched}
	}
	for _, root := range r.Roots {
		d.Roots = append(d.Roots, describeCallee(root))
	}
	for _, l := range r.Loaders {
		d.Loaders = append(d.Loaders, calleesLoaderJSON{loaderName(l.Number), l.Classes, strings.ReplaceAll(l.Example, "/", ".")})
	}
	return d
}

func describeCallee(n *calltree.Node) calleeJSON {
	d := calleeJSON{
		Class: strings.ReplaceAll(n.Class, "/", "."), Method: n.Name, Descriptor: n.Descriptor, State: n.State.String(), Reason: n.Reason,
		HookOf: n.Holder, Bytes: n.Bytes, Loaders: []string{}, JDK: n.JDK, NotBelow: n.Stop.String(), Reflects: n.Reflects, Handles: n.Handles,
	}
	if n.State == calltree.Called || n.State == calltree.NeverCalled || n.State == calltree.Instrumented {
		d.Seen, d.lowerBoundJSON = &n.Calls, describeLowerBound(n.LowerBound)
	}
	for _, l := range n.Loaders {
		d.Loaders = append(d.Loaders, loaderName(l))
	}
	for _, v := range n.Via {
		d.Calls = append(d.Calls, describeVia(v))
	}
	for _, callee := range n.Callees {
		d.Callees = append(d.Callees, describeCallee(callee))
	}
	for _, cut := range n.Cuts {
		c := calleeCutJSON{Methods: cut.Methods, By: cut.By.String()}
		if cut.Via.Declared != (callgraph.Method{}) {
			call := describeVia(cut.Via)
			c.Call = &call
		}
		d.Cuts = append(d.Cuts, c)
	}
	return d
}

func describeVia(v calltree.Via) callJSON {
	return callJSON{v.Kind.String(), strings.ReplaceAll(v.Declared.Class, "/", "."), v.Declared.Name, v.Declared.Descriptor, v.ByLambda}
}
