package suggest

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

const (
	// smallCode is how long a method of the program may be for what it calls to count as
	// called by its callers, and mostHops through how many of them.
	smallCode = 80
	mostHops  = 2
	// mostTargets is how many methods a call may reach to be followed: of a call that
	// may reach many nobody can tell which one it does.
	mostTargets = 2
)

// nature is what the code of a method says of it.
func (c *Code) nature(m Method) (n Nature) {
	for _, one := range c.named(m) {
		full := Method{m.Class, one.name, one.descriptor}
		for _, use := range c.usesOf(full, mostHops) {
			n.add(use)
		}
		if n.Entry == "" {
			n.Entry = c.entryOf(full)
		}
		switch {
		case one.access.Has(classfile.AccSynchronized):
			n.add(Use{Lock, "synchronized"})
		case one.monitor:
			n.add(Use{Lock, "synchronized block"})
		}
	}
	return n
}

func (n *Nature) add(use Use) {
	if !slices.ContainsFunc(n.Uses, func(known Use) bool { return known.Kind == use.Kind }) {
		n.Uses = append(n.Uses, use)
	}
}

// usesOf are the calls of kinds that count which a method makes, itself or through small
// methods.
func (c *Code) usesOf(m Method, hops int) []Use {
	if known, is := c.uses[m]; is && hops == mostHops {
		return known
	}
	var n Nature
	if hops == mostHops {
		c.uses[m] = nil // while it is looked at: methods call themselves
	}
	for _, call := range c.calls(m) {
		if call.Kind == callgraph.Initializer || call.Kind == callgraph.Dynamic {
			continue
		}
		d := call.Declared
		if kind := c.kindOf(m, d.Class, d.Name); kind != "" {
			n.add(Use{kind, dotted(d.Class, d.Name)})
			continue
		}
		if hops == 0 || isLibrary(d.Class) {
			continue
		}
		targets := c.graph.Targets(call, callgraph.Method(m))
		if len(targets) > mostTargets {
			continue
		}
		for _, target := range targets {
			next := Method(target.Method)
			if small := c.named(next); next != m && len(small) == 1 && small[0].bytes > 0 && small[0].bytes <= smallCode {
				for _, use := range c.usesOf(next, hops-1) {
					n.add(use)
				}
			}
		}
	}
	if hops == mostHops {
		c.uses[m] = n.Uses
	}
	return n.Uses
}

// calls is what a method's body calls directly.
func (c *Code) calls(m Method) []callgraph.DirectCall {
	class := c.classes[m.Class]
	if class == nil || class.unreadable {
		return nil
	}
	if class.bodies == nil {
		bodies, err := c.graph.Bodies(class.file)
		if err != nil {
			class.unreadable = true
			return nil
		}
		class.bodies = bodies
	}
	calls, err := class.bodies.Calls(m.Name, m.Descriptor)
	if err != nil {
		return nil
	}
	return calls
}

// typed are the types below which a driver's own classes are: who calls those calls the
// database.
var typed = []string{"java/sql/PreparedStatement", "java/sql/CallableStatement", "java/sql/Statement", "java/sql/Connection", "java/sql/ResultSet", "javax/sql/DataSource", "java/util/concurrent/locks/Lock"}

// kindOf is what a call is, by its class or by what that class implements. What classes
// of one project do among themselves is their own affair: a driver does not call itself.
func (c *Code) kindOf(caller Method, class, name string) Kind {
	if kind := kindOf(class, name); kind != "" {
		return kind
	}
	if c.classes[class] == nil || callgraph.Project(caller.Class) == callgraph.Project(class) {
		return ""
	}
	for _, super := range typed {
		if c.graph.IsSubtype(class, super) {
			if kind := kindOf(super, name); kind != "" {
				return kind
			}
		}
	}
	return ""
}

// entryOf tells by what a method takes requests; "" where it does not.
func (c *Code) entryOf(m Method) string {
	for i := range entries {
		e := &entries[i]
		if !slices.Contains(e.names, m.Name) {
			continue
		}
		for _, super := range e.types {
			if m.Class != super && c.graph.IsSubtype(m.Class, super) {
				return e.what + " (" + strings.ReplaceAll(super, "/", ".") + ")"
			}
		}
	}
	return ""
}
