package calltree

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// serve has the fixture call Desk.serve, and waits until it has.
func serve(t *testing.T, p *jvmtest.Running) {
	t.Helper()
	if _, err := io.WriteString(p.Stdin, "serve\n"); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "served ")
}

func lookAt(t *testing.T, p *jvmtest.Running, pattern string, change func(*Options)) *Result {
	t.Helper()
	options := Options{PID: p.PID, Methods: parsed(t, pattern), Limits: DefaultLimits(), Hooks: 200, Settings: session.Settings{Command: "test"}}
	if change != nil {
		change(&options)
	}
	result, err := Look(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestLook compares what a program can call, and what it does call, with what is known
// of it; and has a JVM that another Sonde holds shown as of the last look.
func TestLook(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classes := compiled(t, jdk)
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "shop.Desk", "shop.Bulk"}})
			found := lookAt(t, p, "shop.Desk.serve", nil)
			if got := outline(found.Roots); got != served {
				t.Errorf("%s", got)
			}
			if found.JDK != jdk.Version || found.Holder != "" || found.Fileless != 0 || found.Watched != 0 {
				t.Errorf("%+v", found)
			}
			checkPlaces(t, found)
			bulk := lookAt(t, p, "shop.Bulk.all", nil)
			if shown := len(bulk.Roots[0].Callees); shown+bulk.Cut != bulkMethods || shown != DefaultLimits().Breadth {
				t.Errorf("%d shown, %d cut", shown, bulk.Cut)
			}
			deep := lookAt(t, p, "shop.Desk.serve", func(o *Options) { o.Limits.JDK, o.Limits.Levels = true, 20 })
			if deep.Nodes != DefaultLimits().Nodes || deep.Cut == 0 {
				t.Errorf("%d nodes, %d cut", deep.Nodes, deep.Cut)
			}
			watchServe(t, p)
			lookAtHeld(t, p)
		})
	}
}

// checkPlaces looks at loaders, and at what is the JDK's.
func checkPlaces(t *testing.T, found *Result) {
	t.Helper()
	own := found.Roots[0].Loaders
	found.Each(func(n *Node) {
		isBoot := len(n.Loaders) == 1 && n.Loaders[0] == 0
		if n.JDK != isBoot || !n.JDK && (len(n.Loaders) != 1 || n.Loaders[0] != own[0]) {
			t.Errorf("%v: loaders %v, of the JDK: %v", n.MethodRef, n.Loaders, n.JDK)
		}
		if n.JDK && n.Level > 0 && n.Bytes > 0 && n.Stop != OfJDK {
			t.Errorf("%v is followed", n.MethodRef)
		}
		if n.Name == "concat" && (n.Bytes == 0 || n.State != NotWatched) {
			t.Errorf("%+v", n)
		}
	})
}

// watchServe counts while the program serves a hundred times: it calls itself, so that
// there are 199 calls.
func watchServe(t *testing.T, p *jvmtest.Running) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	hooks := 0
	found, err := Look(ctx, Options{
		PID: p.PID, Methods: parsed(t, "shop.Desk.serve"), Limits: DefaultLimits(), Hooks: 200, Settings: session.Settings{Command: "test"}, Watch: time.Hour,
		Watching: func(methods int) {
			hooks = methods
			serve(t, p)
			end()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	states := make(map[string]string)
	found.Each(func(n *Node) { states[n.Class+"."+n.Name] = fmt.Sprintf("%v %d", n.State, n.Calls) })
	for method, want := range map[string]string{
		"shop/Desk.serve":           "called 199",
		"shop/Desk$Square.area":     "called 199",
		"shop/Desk$Tall.area":       "called 50",
		"shop/Desk$Circle.area":     "never called 0",
		"shop/Desk$Shape.label":     "called 199",
		"shop/Desk.lambda$serve$0":  "called 199",
		"shop/Desk.helper":          "called 199",
		"shop/Desk.parse":           "called 199",
		"shop/Desk$Square.<init>":   "called 199",
		"shop/Desk$Rules.<clinit>":  "never called 0",
		"shop/Desk.forbidden":       "never called 0",
		"shop/Desk.chip":            "no hook 0",
		"shop/Desk$Lonely.cry":      "no hook 0",
		"java/lang/String.length":   "not watched 0",
		"java/lang/Object.<init>":   "no hook 0",
		"java/lang/String.concat":   "not watched 0",
		"java/lang/Integer.valueOf": "not watched 0",
	} {
		if states[method] != want {
			t.Errorf("%s: %s, want %s", method, states[method], want)
		}
	}
	if found.Watched != hooks || hooks == 0 || found.Unwatched != 0 {
		t.Errorf("%d hooks, %d told", hooks, found.Watched)
	}
}

// lookAtHeld looks while another Sonde has hooks in.
func lookAtHeld(t *testing.T, p *jvmtest.Running) {
	t.Helper()
	ctx := context.Background()
	other, err := session.Open(ctx, p.PID, session.Settings{Command: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Release() }()

	named, err := pattern.ParseSet("shop.Desk.serve", "shop.Desk.parse", "shop.Desk.forbidden")
	if err != nil {
		t.Fatal(err)
	}
	wanted := session.Wanted{Methods: named, Flags: arena.On | arena.Flat}
	if _, err := other.Instrument(ctx, wanted); err != nil {
		t.Fatal(err)
	}
	serve(t, p)
	found := lookAt(t, p, "shop.Desk.serve", nil)
	if got := outline(found.Roots); got != served {
		t.Errorf("%s", got)
	}
	if found.Holder == "" || found.AsOf.IsZero() {
		t.Errorf("%+v", found)
	}
	states := make(map[classfile.MethodRef]State)
	found.Each(func(n *Node) { states[n.MethodRef] = n.State })
	for m, state := range states {
		switch {
		case m.Class != "shop/Desk":
		case m.Name == "serve" || m.Name == "parse":
			if state != Called {
				t.Errorf("%v is %v", m, state)
			}
		case m.Name == "forbidden":
			if state != Instrumented {
				t.Errorf("%v is %v", m, state)
			}
		}
	}
	if _, err := other.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestProxies looks at a call of an interface that only a proxy implements. No loader has the
// file of its class, and no class is redefined.
func TestProxies(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/proxies/Proxied.java"}})
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "proxies.Proxied"}})
			found := lookAt(t, p, "proxies.Proxied.serve", nil)
			var own *Node
			for _, callee := range found.Roots[0].Callees {
				if callee.Class == "proxies/Proxied$Answering" {
					own = callee
				}
			}
			switch {
			case own == nil:
				t.Errorf("the handler of the proxy is not among the callees %+v", found.Roots[0].Callees)
			case own.Name != "invoke" || !own.Via[0].ByProxy || own.Via[0].ByLambda || own.Via[0].Declared.Name != "find":
				t.Errorf("the handler is called %+v", own.Via)
			case len(own.Callees) == 0 || own.Callees[0].Name != "answer":
				t.Errorf("callees of the handler: %+v", own.Callees)
			}
			if found.Fileless != 0 {
				t.Errorf("%d classes have no file, want none", found.Fileless)
			}
		})
	}
}
