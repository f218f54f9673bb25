package context

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// program is a generated one: its methods, who may call whom, and its source.
type program struct {
	seed    uint64
	methods []*method             // by number
	callees map[*method][]*method // as its source has them, for sequences that are likely
	source  map[string]string     // by file
}

// The kinds of methods, which say how one is called.
type kind uint8

const (
	static kind = iota
	virtual
	byInterface // default methods, and those that classes implement
	generic     // with a bridge before it
	constructor
	lambda
	compute // of a task that forks
)

// class is a Java class or interface.
type class struct {
	name        string // without its package
	parent      *class
	isInterface bool
	late        bool // not loaded before the program works
	interfaces  []*class
	isGeneric   bool
	members     []*member
}

// member is a method with code. Lambdas are members of no class of theirs: they are
// made inside others.
type member struct {
	*method
	class    *class
	java     string // its name in the source
	declares *class // of a virtual one, the class that has it first
	throws   bool
	catches  bool
}

// generator makes a program of a seed.
type generator struct {
	*rand.Rand
	program *program
	classes []*class
	byName  map[string]*method
	members []*member         // all but lambdas
	fields  map[string]string // of class Start, by name: how they are declared
	current *member           // what is being written
	locals  int
	form    int   // the hand-off that is being written
	forms   []int // those to be written next
}

// The package of what is generated. Patterns begin with it.
const appPackage = "app."

// generate makes the program of a seed; the same one each time.
func generate(seed uint64) *program {
	g := &generator{
		Rand:    rand.New(rand.NewPCG(seed, 6)),
		program: &program{seed: seed, callees: make(map[*method][]*method), source: make(map[string]string)},
		byName:  make(map[string]*method),
		fields:  make(map[string]string),
	}
	g.makeInterfaces()
	g.makeClasses()
	g.makeSplit()
	for _, c := range g.classes {
		g.program.source[c.name+".java"] = g.writeClass(c)
	}
	g.program.source["Split.java"] = g.writeSplit()
	maps.Copy(g.program.source, fixedSources)
	g.program.source["Start.java"] = g.writeStart()
	return g.program
}

// number gives a method its number. All lambdas that are made in one method count as
// one: compilers number them as they like.
func (g *generator) number(kind kind, class, name string) *method {
	key := class + "." + name
	if m := g.byName[key]; m != nil {
		return m
	}
	m := &method{number: len(g.program.methods), class: appPackage + class, name: name, kind: kind}
	g.program.methods = append(g.program.methods, m)
	g.byName[key] = m
	return m
}

func (g *generator) add(c *class, kind kind, name string) *member {
	m := &member{
		method: g.number(kind, c.name, name), class: c, java: name, declares: c,
		throws: g.IntN(4) == 0, catches: g.IntN(5) < 2,
	}
	c.members = append(c.members, m)
	g.members = append(g.members, m)
	return m
}

func (g *generator) makeInterfaces() {
	for i := range 2 {
		c := &class{name: fmt.Sprintf("I%d", i), isInterface: true}
		g.classes = append(g.classes, c)
		for j := range 2 {
			g.add(c, byInterface, fmt.Sprintf("d%d%d", i, j))
		}
	}
}

func (g *generator) makeClasses() {
	interfaces := slices.Clone(g.classes)
	const all, late = 7, 2
	for i := range all {
		c := &class{name: fmt.Sprintf("C%d", i), late: i >= all-late}
		g.classes = append(g.classes, c)
		for j := range 2 {
			g.add(c, static, fmt.Sprintf("s%d%d", i, j))
		}
		g.add(c, constructor, "<init>")
		if c.late {
			continue
		}
		if i > 0 && g.IntN(2) == 0 {
			c.parent = g.classes[len(interfaces)+g.IntN(i)]
		}
		g.inherit(c)
		g.add(c, virtual, fmt.Sprintf("v%d", i))
		for j, face := range interfaces {
			if i == 0 || g.IntN(2) == 0 {
				c.interfaces = append(c.interfaces, face)
				g.add(c, byInterface, fmt.Sprintf("i%d", j)).declares = face
			}
		}
		if i == 0 || g.IntN(3) == 0 {
			c.isGeneric = true
			g.add(c, generic, "apply")
		}
	}
}

// inherit overrides some of the methods that classes above have.
func (g *generator) inherit(c *class) {
	seen := make(map[string]bool)
	for above := c.parent; above != nil; above = above.parent {
		for _, m := range above.members {
			if m.kind == virtual && !seen[m.java] {
				seen[m.java] = true
				if g.IntN(3) > 0 {
					g.add(c, virtual, m.java).declares = m.declares
				}
			}
		}
	}
}

// makeSplit makes the task that forks. Its class is none that patterns with a wildcard
// name: what its constructor does belongs to the JDK.
func (g *generator) makeSplit() {
	g.add(&class{name: "Split"}, compute, "compute")
}

// isBelow reports whether a class is another or below it.
func (c *class) isBelow(other *class) bool {
	for ; c != nil; c = c.parent {
		if c == other || slices.Contains(c.interfaces, other) {
			return true
		}
	}
	return false
}

func pick[T any](g *rand.Rand, from []T) T { return from[g.IntN(len(from))] }
