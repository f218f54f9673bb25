package live_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// libraryMethods are methods of the JDK that run everywhere: in the harness, in
// the JVM's own threads, in the agent.
var libraryMethods = []string{
	"java.util.HashMap.put", "java.util.ArrayList.add", "java.util.ArrayList.<init>", "java.lang.String.hashCode", "java.lang.Integer.parseInt",
}

// TestMethodsOfTheJDKAreCounted counts what a program calls of the JDK, on one
// thread and on many.
func TestMethodsOfTheJDKAreCounted(t *testing.T) {
	const rounds, times = 3, 1000
	calls := map[edge]uint64{
		{"library/Main.putsIntoMap()J", "java/util/HashMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"}: times,
		{"library/Main.addsToList()J", "java/util/ArrayList.add(Ljava/lang/Object;)Z"}:                                   times,
		{"library/Main.addsToList()J", "java/util/ArrayList.<init>()V"}:                                                  1,
		{"library/Main.makesLists()J", "java/util/ArrayList.<init>(I)V"}:                                                 times,
		{"library/Main.hashesStrings(Ljava/lang/String;)J", "java/lang/String.hashCode()I"}:                              times,
		{"library/Main.parsesNoNumbers()J", "java/lang/Integer.parseInt(Ljava/lang/String;)I"}:                           times,
	}
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Library)
		before := p.Check()
		c := observe(t, p, arena.On|arena.Timed, append([]string{"library.**"}, libraryMethods...)...)
		p.Run(rounds)
		c.compare("one thread")
		edges := c.edges()
		for e, once := range calls {
			if edges[e] != rounds*once {
				t.Errorf("%d calls from %s to %s, want %d", edges[e], e.caller, e.callee, rounds*once)
			}
		}
		p.StartLoad(3)
		c.goesOn(20)
		p.StopLoad()
		c.compare("many threads")
		all := c.totals("library/Main.round").Calls
		edges = c.edges()
		for e, once := range calls {
			if edges[e] != all*once {
				t.Errorf("under load: %d calls from %s to %s, want %d", edges[e], e.caller, e.callee, all*once)
			}
		}
		parse := c.totals("java/lang/Integer.parseInt(Ljava/lang/String;I)I")
		if parse.Threw < all*times/4 || parse.Threw > parse.Calls*times/4 {
			t.Errorf("parseInt: %+v in %d rounds", parse, all)
		}
		if after := p.Check(); after != before {
			t.Errorf("the program's results are %s, were %s", after, before)
		}
		for _, left := range c.LeftAlone() {
			t.Errorf("%s %s was left alone: %s", left.Class, left.Method, left.Reason)
		}
	})
}

// TestTheAgentsOwnCallsAreNotCounted has the agent work hard while the program
// rests: of what the agent calls of the JDK nothing may show.
func TestTheAgentsOwnCallsAreNotCounted(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Library)
		p.Run(1)
		c := observe(t, p, arena.On, libraryMethods...)
		p.Run(1)
		before := c.sum()
		for range 20 {
			c.toggle(arena.On)
		}
		for _, pattern := range []string{"library.Main.putsIntoMap", "no.such.Class.method", "library.**"} {
			c.instrument(arena.On, pattern) // has it list classes, fetch files and have them woven
		}
		c.callsAre(before)
	})
}

func (c *counting) callsAre(before *arena.Summary) {
	c.t.Helper()
	after := c.sum()
	methods := make(map[uint32]session.Method)
	for _, m := range c.Methods() {
		methods[m.ID] = m
	}
	for id, totals := range after.Methods {
		var calls uint64
		if earlier := before.Methods[id]; earlier != nil {
			calls = earlier.Calls
		}
		if totals.Calls != calls {
			c.t.Errorf("%s was called %d times, before the agent worked %d times", methods[id], totals.Calls, calls)
		}
	}
}
