package agent_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave"
)

func TestSoakJ1(t *testing.T) {
	everyProgram(t, "TasksSoak", func(t *testing.T, g *guest) {
		w := watchTasks(t)
		hooks := make(map[string][]*weave.Template)
		for member, list := range w.hooks {
			hooks[strings.ReplaceAll(member, "Tasks", "TasksSoak")] = list
		}
		delete(hooks, "TasksSoak.tagged(Ljava/lang/String;Ljava/lang/Runnable;)V")
		w.hooks = hooks
		for i := range 25 {
			a := g.mapWithRing(16 << 20)
			g.hookHandOff()
			g.hookAll(w, "TasksSoak")
			g.setWatches(w, 0)
			g.tell("pool", 3)
			g.setWatches(w, 1)
			g.tell("virtual", 2)
			now := taskTruth(t, a, map[uint32]string{})
			g.ask(restore, nil)
			r := g.reply(restored)
			r.u64(); r.u32()
			if r.u8() != 1 { t.Log("not unmapped") }
			if i%8 == 0 { t.Log(now) }
		}
		g.leave()
	})
}
