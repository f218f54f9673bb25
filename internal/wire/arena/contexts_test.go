package arena

import "testing"

func TestContextLossesAreRead(t *testing.T) {
	m := newModel(t, 1<<18)
	m.arena.memory.put64(headerAmbiguous, 3)
	m.arena.memory.put64(headerContextsLost, 4)
	if ambiguous, lost := m.arena.ContextLosses(); ambiguous != 3 || lost != 4 {
		t.Errorf("%d tasks in two contexts, %d contexts without room; want 3 and 4", ambiguous, lost)
	}
}
