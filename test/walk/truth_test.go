package walk_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A tree has who calls a hot method, by name, and who calls those.
type tree struct {
	share float64 // of the hot method's time, that came this way
	above map[string]*tree
	ends  bool   // the way was not followed further
	why   string // what is said of that
	// isReckoned says that no stack showed it: its share is by what hooks have seen.
	isReckoned bool
}

func (t *tree) at(name string) *tree {
	if t.above == nil {
		t.above = make(map[string]*tree)
	}
	next := t.above[name]
	if next == nil {
		next = &tree{}
		t.above[name] = next
	}
	return next
}

// put adds a share to all that is on a stack.
func (t *tree) put(frames []string, share float64) {
	t.share += share
	if len(frames) > 0 {
		t.at(frames[0]).put(frames[1:], share)
	}
}

func (t *tree) scale(by float64) {
	t.share *= by
	for _, next := range t.above {
		next.scale(by)
	}
}

// A truth is what the program says of one of its hot methods, or of several that
// cannot be told apart.
type truth struct {
	leaf   string   // the method, "" where leaves are given
	leaves []string // classes, one of whose methods is hot
	share  float64  // of the program's time
	ways   *tree
}

// truths reads the program's times.
func (p *program) truths() []*truth {
	p.t.Helper()
	nanos, calls := make(map[int]float64), make(map[int]float64)
	var whole float64
	for _, line := range p.order("times", "end") {
		var way int
		var turns, each float64
		if _, err := fmt.Sscanf(line, "way %d %g %g", &way, &turns, &each); err != nil {
			p.t.Fatalf("the program said %q: %v", line, err)
		}
		nanos[way] = turns * each
		whole += nanos[way]
	}
	for _, s := range p.stacks {
		calls[s.way] += s.calls
	}
	var all []*truth
	for _, s := range p.stacks {
		t := &truth{leaf: s.frames[0], leaves: s.leaves, ways: &tree{}}
		above := s.frames[1:]
		if s.leaves != nil {
			t.leaf, above = "", s.frames
		}
		if i := slices.IndexFunc(all, t.same); i >= 0 {
			t = all[i]
		} else {
			all = append(all, t)
		}
		share := nanos[s.way] / whole * s.calls / calls[s.way]
		t.share += share
		t.ways.put(above, share)
	}
	for _, t := range all {
		t.ways.scale(1 / t.share)
	}
	return all
}

func (t *truth) same(other *truth) bool {
	return t.leaf == other.leaf && slices.Equal(t.leaves, other.leaves)
}

// covers reports whether a method is the one that is spoken of.
func (t *truth) covers(m climb.Method) bool {
	return t.leaf == nameOf(m) || slices.Contains(t.leaves, m.Class) && (m.Native || isLibrary(m.Class))
}

func (t *truth) String() string {
	if t.leaf != "" {
		return short(t.leaf)
	}
	return "a method of " + strings.Join(t.leaves, ", ")
}

func nameOf(m climb.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// short is a method's name without package and parameters.
func short(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// isHidden reports whether a frame is one that Java itself does not tell of: a
// lambda's object, or what carries a call.
func isHidden(name string) bool {
	return strings.Contains(name, "$$Lambda") || strings.HasPrefix(name, "java/lang/invoke/") || strings.HasPrefix(name, "java/lang/Thread.runWith(")
}

func isLibrary(name string) bool {
	return strings.HasPrefix(name, "java/") || strings.HasPrefix(name, "jdk/") || strings.HasPrefix(name, "sun/")
}

// straight leaves out hidden frames, and cuts circles, so that recursion does not
// show how deep it was.
func straight(frames []string) []string {
	var all []string
	for _, name := range frames {
		if isHidden(name) {
			continue
		}
		if i := slices.Index(all, name); i >= 0 {
			all = all[:i]
		}
		all = append(all, name)
	}
	return all
}
