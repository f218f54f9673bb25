package pack

import (
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Content is all that a pack holds. The same content makes the same bytes: a pack has
// no times, and no paths of machines.
type Content struct {
	Build   string          // of the agent whose hooks the woven code calls: agent.AgentBuild
	Engine  string          // that wove the classes: cache.Engine
	Title   string          // base names of what was packed, for people
	Probes  []byte          // probes.yaml as it was read
	Watches control.Watches // what the hooks do; Fresh is not kept
	Names   []Name          // of the spots
	Classes []Class
	Left    []Left
}

// A Name says what a spot is.
type Name struct {
	ID                        uint32
	Class, Method, Descriptor string // as class files have them
	Probe, Sequence           string
	Groups                    []string // tags its results are by
}

// A Class is one that was woven. The order of classes in a pack is by name, then by
// original.
type Class struct {
	// Entry is what became of it. Of one that was read from a pack there is no woven class:
	// Find makes that of the original. When it was made is not kept.
	Entry *cache.Entry
	// Original is the class file that was woven; nil where it was read from a pack.
	Original []byte
}

// A Left is a class, or a method, that probes match and that is not woven.
type Left struct {
	Class  string // internal name
	Method string // name and descriptor; empty where it is the whole class
	Reason string
}
