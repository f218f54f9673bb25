package live_test

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/session"
)

// expectedReasons are those for which classes of the programs may be without
// hooks: what their names hold, and what the reason must.
var expectedReasons = []struct {
	class, reason string
	counted       bool // the program counts calls of it
}{
	{"$$Lambda", "the JVM does not let it be changed", false},
	{"dynamic/Secret/", "the JVM does not let it be changed", false}, // a hidden class
	{"LambdaForm$", "the JVM does not let it be changed", false},
	{"loading/fresh/Confined", "its class loader does not see the hooks", true},
	// Its initialiser has failed, so it is of no use, and the JVM refuses to touch it. One
	// that is loaded later has hooks.
	{"construction/fresh/Failing", "the JVM refused it: java.lang.InternalError: class redefinition failed: invalid class", false},
	// Made in memory: there is no class file to take the names from that JDK 17 forgets.
	{"dynamic/$Proxy", "loses the parameter names", false},
}

// mayBeLeft reports whether a class is one that Sonde names as left alone, with
// the reason that is to be expected. One that loads later is named by a notice.
func (c *counting) mayBeLeft(class string) bool {
	for _, expected := range expectedReasons {
		if !expected.counted || !strings.Contains(class, expected.class) {
			continue
		}
		named := func(left session.LeftAlone) bool {
			return left.Class == class && strings.Contains(left.Reason, expected.reason)
		}
		told := func(notice string) bool {
			return strings.HasPrefix(notice, class+" ") && strings.Contains(notice, expected.reason)
		}
		c.lock.Lock()
		defer c.lock.Unlock()
		return slices.ContainsFunc(c.LeftAlone(), named) || slices.ContainsFunc(c.notices, told)
	}
	return false
}

// checkLeftAlone demands that nothing was left alone but what is to be
// expected.
func (c *counting) checkLeftAlone() {
	c.t.Helper()
	for _, left := range c.LeftAlone() {
		known := false
		for _, expected := range expectedReasons {
			known = known || strings.Contains(left.Class, expected.class) && strings.Contains(left.Reason, expected.reason)
		}
		if !known {
			c.t.Errorf("%s %s was left alone: %s", left.Class, left.Method, left.Reason)
		}
	}
}
