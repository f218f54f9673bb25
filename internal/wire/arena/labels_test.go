package arena

import "testing"

func TestLabelsAreNoMethods(t *testing.T) {
	for id, want := range map[uint32]bool{
		layoutLabelsFirst - 1: false, LabelOther: true, layoutLabelsFirst + layoutLabelsMost - 1: true,
		layoutLabelsFirst + layoutLabelsMost: false, layoutCallersFirst + layoutCallersMost: false, layoutFirstMethodId: false,
	} {
		if IsLabel(id) != want || want && !ReservedID(id) {
			t.Errorf("%d is a label: %v", id, IsLabel(id))
		}
	}
}

// What a spot did under labels is added up; the labels themselves did nothing.
func TestLabelledCallsAreSummed(t *testing.T) {
	const spot, label = layoutFirstMethodId + 1, LabelOther + 3
	m := newModel(t, 1<<16)
	for i := range uint64(2) {
		thread := m.thread(i+1, false)
		root := thread.arena.memory.u32(thread.block + blockRoot)
		for _, number := range []uint32{LabelOther, label} {
			node := thread.child(uint32(thread.child(root, number)/layoutUnit), spot)
			thread.arena.memory.put64(node+nodeCalls, 5+i)
		}
		below := thread.child(root, spot)
		thread.arena.memory.put64(below+nodeUndecided, 4)
		thread.arena.memory.put64(below+nodeThrew, 1)
	}
	expect(t, sum(t, m), map[uint32]Totals{spot: {Calls: 22, Undecided: 8, Threw: 2}})
}
