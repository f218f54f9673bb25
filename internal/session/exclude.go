package session

import (
	"strings"

	"github.com/sonde-jvm/sonde/agent"
)

// exempt are classes that hooks must never be woven into, by internal name; one
// that ends in / or * stands for all that begin so.
var exempt = []struct{ name, reason string }{
	{"java/lang/Thread", "hooks ask it which thread they run in"},
	{"java/lang/BaseVirtualThread", "a hook in it would run between two threads"},
	{"java/lang/VirtualThread*", "a hook in it would run between two threads"},
	{"java/lang/ThreadBuilders*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/Continuation*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/StackChunk*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/ThreadContainer*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/annotation/", "hooks are made of it"},
	{"jdk/internal/event/", "the JVM rewrites it for its flight recorder, and complains where that is not installed"},
	{"jdk/internal/misc/Unsafe", "hooks are made of it"},
	{"sun/misc/Unsafe", "hooks are made of it"},
	{"java/lang/Object", "every object begins with it"},
	{"sun/instrument/", "hooks are put in through it"},
	{"java/lang/instrument/", "hooks are put in through it"},
	{"sonde/agent/", "it is Sonde's own"},
}

// exemption says why a class must not be woven; "" where it may.
func exemption(class string) string {
	if isHooksClass(class) {
		return "it is Sonde's own"
	}
	for _, e := range exempt {
		prefix, isPrefix := strings.CutSuffix(e.name, "*")
		if class == e.name || (isPrefix || strings.HasSuffix(e.name, "/")) && strings.HasPrefix(class, prefix) {
			return e.reason
		}
	}
	return ""
}

func isHooksClass(class string) bool {
	return strings.HasPrefix(class, agent.HookClass()) || strings.HasPrefix(class, "java/lang/SondeHooks")
}
