package session

import "github.com/sonde-jvm/sonde/internal/weave"

// reflective are the JDK's methods through which calls by reflection go and
// method handles are made, by class. Where a JDK has the first, the second calls
// it.
var reflective = map[string]struct {
	methods []string
	handles bool // it makes handles; else it calls by reflection
}{
	"java/lang/reflect/Method":            {methods: []string{"invoke"}},
	"java/lang/reflect/Constructor":       {methods: []string{"newInstanceWithCaller", "newInstance"}},
	"java/lang/invoke/DirectMethodHandle": {methods: []string{"make"}, handles: true},
}

// reflection is the template that tells what a reflective method is about to
// call; nil for other methods. What it tells twice is taken once.
func (w *workshop) reflection(m weave.MethodInfo) *weave.Template {
	w.choices.lock.Lock()
	defer w.choices.lock.Unlock()
	if !w.choices.reflection {
		return nil
	}
	for _, name := range reflective[m.Class].methods {
		switch {
		case name != m.Name:
		case !reflective[m.Class].handles:
			return w.templates.reflect
		case m.Descriptor == "(BLjava/lang/Class;Ljava/lang/invoke/MemberName;Ljava/lang/Class;)Ljava/lang/invoke/DirectMethodHandle;":
			return w.templates.handle
		}
	}
	return nil
}
