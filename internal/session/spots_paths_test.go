package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// paths is testdata/Paths.java while it runs, and a session with it.
type paths struct {
	*Session
	t       *testing.T
	running *jvmtest.Running
	notices []string
}

// A tally is what the program says it did: calls of pay, those below web and order,
// and of those the ones the condition holds for.
type tally struct{ all, inOrder, chosen uint64 }

func openPaths(t *testing.T, jdk jvmtest.JDK) *paths {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Paths.java")}})
	p := &paths{t: t, running: jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classes, "Paths"}})}
	var err error
	p.Session, err = Open(t.Context(), p.running.PID, Settings{
		Command: "sonde test", Notice: func(text string) { p.notices = append(p.notices, text) },
	})
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, p.running.Stderr())
	}
	t.Cleanup(func() {
		_, _ = p.Close(context.Background())
		_ = p.Release()
	})
	if _, err := p.Survey(t.Context(), func(class string) bool { return !strings.Contains(class, "/") }); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *paths) order(order string) (done tally) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.running.Stdin, order); err != nil {
		p.t.Fatal(err)
	}
	answer := strings.TrimSpace(p.running.Await(p.t, "done"))
	if _, err := fmt.Sscanf(answer, "done %d %d %d", &done.all, &done.inOrder, &done.chosen); err != nil {
		p.t.Fatalf("%q: %v", answer, err)
	}
	return done
}

// calls are those that a spot has counted.
func (p *paths) calls(spot Spot) uint64 {
	p.t.Helper()
	sum, err := p.Sum()
	if err != nil {
		p.t.Fatal(err)
	}
	if totals := sum.Methods[p.SpotID(spot)]; totals != nil {
		return totals.Calls
	}
	return 0
}

const payment = "(LPaths$Order;I)J"

// methodOf is a spot in a method of Paths.
func methodOf(name string, kind SpotKind, key string) Spot {
	return Spot{Class: "Paths", Name: name, Descriptor: payment, Kind: kind, Key: key, Flags: arena.On | arena.Flat}
}

// anchorsOf are the elements of web >> order: all four that begin it count as web.
func anchorsOf() []Spot {
	web, soon, later, order := methodOf("web", Anchors, "anchor"), methodOf("webSoon", Anchors, "anchor"),
		methodOf("webLater", Anchors, "anchor"), methodOf("order", Anchors, "anchor")
	later.Descriptor = "(Ljava/util/concurrent/ExecutorService;I)Ljava/util/List;"
	web.First, soon.First, later.First, order.Below = 1, 1, 1, 2
	stages := later
	stages.Name = "webStages"
	return []Spot{web, soon, later, stages, order}
}

// conditionIn checks a condition in a method, by the files that the session has.
func (p *paths) conditionIn(class, method string, moment condition.Moment, text string) weave.Lowered {
	p.t.Helper()
	expression, scope := p.parse(class, method, moment, text)
	checked, err := condition.Check(expression, scope)
	if err != nil {
		p.t.Fatal(err)
	}
	return checked
}

// valueIn is conditionIn for a value.
func (p *paths) valueIn(class, method string, moment condition.Moment, text string) weave.Lowered {
	p.t.Helper()
	expression, scope := p.parse(class, method, moment, text)
	checked, err := condition.CheckValue(expression, scope)
	if err != nil {
		p.t.Fatal(err)
	}
	return checked
}

func (p *paths) parse(class, method string, moment condition.Moment, text string) (*condition.Expr, condition.Scope) {
	p.t.Helper()
	lookup := func(name string) *condition.Class {
		for _, c := range p.Find(name) {
			if file, err := classfile.Parse(c.File); err == nil {
				return &condition.Class{File: file, Loader: int(c.Loader)}
			}
		}
		return nil
	}
	home := lookup(class)
	i := slices.IndexFunc(home.File.Methods, func(m classfile.Member) bool {
		name, _, err := home.File.MemberName(&m)
		return err == nil && string(name) == method
	})
	expression, err := condition.Parse(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return expression, condition.Scope{
		Class: home, Method: &home.File.Methods[i], Moment: moment, Lookup: lookup,
		Tags: map[string]int32{"tier": 1}, TagCall: condition.TagCall{Class: p.HooksClass(), Method: "tagged"},
	}
}

func (p *paths) watch(request WatchRequest) *Installation {
	p.t.Helper()
	installation, err := p.Watch(p.t.Context(), request)
	if err != nil {
		p.t.Fatal(err)
	}
	return installation
}

// isDescribed demands that who reads the arena alone knows a spot by its method's name.
func (p *paths) isDescribed(spot Spot, name string) {
	p.t.Helper()
	methods, err := p.arena.Methods()
	if err != nil || !slices.Contains(methods, arena.Method{ID: p.SpotID(spot), Name: name}) {
		p.t.Errorf("the arena has %v: %v", methods, err)
	}
}
