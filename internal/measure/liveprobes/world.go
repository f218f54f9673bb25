package liveprobes

import (
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// A world is the loaded classes of a JVM, as far as they are known. Class files are
// taken apart when they are asked for.
type world struct {
	library *jimage.Library
	classes map[string][]*class // by name: several loaders may have one
	below   map[string][]*class // direct subtypes, by name; nil until they are asked for
	opaque  bool                // there are classes without a file that may be below anything
	proxied bool                // there are some that may be below any interface
	loaders map[string][]int    // those that have classes of a package
	guesses int                 // loaders that were made up, for classes that are loading
	// unbounded says that no JVM has loaded these classes yet: others may load that
	// nobody has seen, and which of several of a name it will be is not known.
	unbounded bool
}

// A class is one that is loaded.
type class struct {
	name   string
	loader int
	file   []byte
	reason string // why it cannot have hooks; "" where it can
	isNew  bool   // it was seen as it loaded: its loader is a guess
	parsed *condition.Class
	broken bool // its file cannot be read

	arrived bool // it was seen as it loaded
	isFresh bool // it has loaded since a set was applied
}

func newWorld(l *jimage.Library) *world {
	return &world{library: l, classes: make(map[string][]*class), loaders: make(map[string][]int)}
}

// add learns of a class that is loaded. One that is known already may be told again.
func (w *world) add(loaded session.LoadedClass) {
	if isSondes(loaded.Name) {
		return
	}
	if isHidden(loaded.Name) {
		w.overlook(loaded.Name, int(loaded.Loader))
		return
	}
	for _, c := range w.classes[loaded.Name] {
		if c.loader != int(loaded.Loader) && !c.isNew {
			continue
		}
		c.loader, c.isNew = int(loaded.Loader), false
		if c.parsed != nil {
			c.parsed.Loader = c.loader
		}
		if c.file == nil && loaded.File != nil {
			c.file, c.broken = loaded.File, false
		}
		if c.reason == "" {
			c.reason = loaded.Reason
		}
		return
	}
	w.put(&class{name: loaded.Name, loader: int(loaded.Loader), file: loaded.File, reason: loaded.Reason})
}

// load learns of a class that is being loaded.
func (w *world) load(name string, file []byte) *class {
	c := &class{name: strings.Clone(name), file: slices.Clone(file), isNew: true, arrived: true, isFresh: true}
	c.loader = w.guessLoader(name)
	w.put(c)
	return c
}

func (w *world) put(c *class) {
	w.classes[c.name] = append(w.classes[c.name], c)
	if own := packageOf(c.name); c.loader >= 0 && !slices.Contains(w.loaders[own], c.loader) {
		w.loaders[own] = append(w.loaders[own], c.loader)
	}
	if w.below != nil {
		w.place(c)
	}
}

// guessLoader is the loader of other classes of a package where they have the same, else
// one that no class has: then nothing that a package keeps to itself can be read.
func (w *world) guessLoader(name string) int {
	if found := w.loaders[packageOf(name)]; len(found) == 1 {
		return found[0]
	}
	w.guesses++
	return -w.guesses
}

func isSondes(class string) bool {
	return strings.HasPrefix(class, "sonde/agent/") || strings.HasPrefix(class, "java/lang/Sonde")
}

// isHidden tells classes that have no name of their own: what follows the slash, or the
// plus, begins with a digit.
func isHidden(class string) bool {
	at := strings.LastIndexAny(class, "/+")
	return at >= 0 && at+1 < len(class) && class[at+1] >= '0' && class[at+1] <= '9'
}

// open takes a class apart; nil where its file is not there or damaged.
func (w *world) open(c *class) *condition.Class {
	if c.parsed != nil || c.broken {
		return c.parsed
	}
	file := c.file
	if file == nil {
		file = w.library.Class(c.name)
	}
	parsed, err := classfile.Parse(file)
	if err != nil || parsed.Name() != c.name {
		c.broken = true
		return nil
	}
	c.parsed = &condition.Class{File: parsed, Loader: c.loader}
	return c.parsed
}

// lookup is the class of a name as another sees it: that of the same loader, else the
// only one, else the boot loader's. Of several others it is not known which.
func (w *world) lookup(name string, from *class) *condition.Class {
	c := w.seen(name, from)
	if c == nil || w.unbounded && len(w.classes[name]) > 1 {
		return nil
	}
	return w.open(c)
}

func (w *world) seen(name string, from *class) *class {
	list := w.classes[name]
	if w.unbounded && len(list) == 0 && w.library.Has(name) {
		w.put(&class{name: name}) // it will be the boot loader's, or one's that all others ask
		list = w.classes[name]
	}
	for _, loader := range []int{from.loader, 0} {
		for _, c := range list {
			if c.loader == loader {
				return c
			}
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return nil
}

// subtypes are the classes below one, at any depth, and whether that is all of them.
func (w *world) subtypes(name string) (list []*condition.Class, all bool) {
	w.index()
	all = !w.opaque
	for _, c := range w.classes[name] {
		if parsed := w.open(c); w.proxied && parsed != nil && parsed.File.Access.Has(classfile.AccInterface) {
			all = false
		}
	}
	met := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for _, c := range w.below[todo[0]] {
			parsed := w.open(c)
			if parsed == nil {
				all = false
				continue
			}
			list = append(list, parsed)
			if !met[c.name] {
				met[c.name] = true
				todo = append(todo, c.name)
			}
		}
	}
	return list, all
}

// index finds out what is below what.
func (w *world) index() {
	if w.below != nil {
		return
	}
	w.below = make(map[string][]*class)
	for _, name := range slices.Sorted(maps.Keys(w.classes)) {
		for _, c := range w.classes[name] {
			w.place(c)
		}
	}
}

func (w *world) place(c *class) {
	parsed := w.open(c)
	if parsed == nil {
		w.overlook(c.name, c.loader)
		return
	}
	for _, super := range parents(parsed.File) {
		w.below[super] = append(w.below[super], c)
	}
}

// overlook notes what a class may be below that cannot be read. Those of lambdas are
// below Object and their interface, which conditions allow for; what the JDK makes for
// reflection and method handles is below its own classes.
func (w *world) overlook(name string, loader int) {
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case strings.Contains(name, "$$Lambda"), loader == 0,
		strings.HasPrefix(name, "java/lang/invoke/"), strings.HasPrefix(name, "jdk/internal/reflect/"):
	case strings.HasPrefix(last, "$Proxy"):
		w.proxied = true
	default:
		w.opaque = true
	}
}

// parents are the superclass and the interfaces of a class.
func parents(file *classfile.Class) []string {
	var names []string
	if super := file.SuperName(); super != "" {
		names = append(names, super)
	}
	for _, at := range file.Interfaces {
		if name, err := file.Pool.ClassName(at); err == nil {
			names = append(names, string(name))
		}
	}
	return names
}

// ancestors are the names of all classes and interfaces above one, and its own.
func (w *world) ancestors(c *class) []string {
	met := map[string]bool{c.name: true}
	names := []string{c.name}
	for todo := []*class{c}; len(todo) > 0; todo = todo[1:] {
		parsed := w.open(todo[0])
		if parsed == nil {
			continue
		}
		for _, name := range parents(parsed.File) {
			if met[name] {
				continue
			}
			met[name] = true
			names = append(names, name)
			if next := w.seen(name, todo[0]); next != nil {
				todo = append(todo, next)
			}
		}
	}
	return names
}

// A method is one of a class that could be opened.
type method struct {
	classfile.MethodRef
	class  *class
	member *classfile.Member
}

// methods are those of a class that can be called by themselves: what the compiler made
// to bridge to another, and what is abstract, is not.
func (w *world) methods(c *class) (all []method) {
	parsed := w.open(c)
	if parsed == nil {
		return nil
	}
	for i := range parsed.File.Methods {
		m := &parsed.File.Methods[i]
		if m.Access.Has(classfile.AccBridge) || m.Access.Has(classfile.AccAbstract) {
			continue
		}
		if name, desc, err := parsed.File.MemberName(m); err == nil {
			all = append(all, method{classfile.MethodRef{Class: c.name, Name: string(name), Descriptor: string(desc)}, c, m})
		}
	}
	return all
}

// bridges are the methods by which the compiler has calls of others reach one: they
// have its name, in its class or above it.
func (w *world) bridges(m method) (members []string) {
	for _, name := range w.ancestors(m.class) {
		above := w.seen(name, m.class)
		if above == nil {
			continue
		}
		parsed := w.open(above)
		if parsed == nil {
			continue
		}
		for i := range parsed.File.Methods {
			other := &parsed.File.Methods[i]
			own, desc, err := parsed.File.MemberName(other)
			if err == nil && other.Access.Has(classfile.AccBridge) && string(own) == m.Name {
				members = append(members, name+"."+m.Name+string(desc))
			}
		}
	}
	return members
}

// code is a method's body; nil where it has none.
func (m method) code() *classfile.Code {
	code, err := m.class.parsed.File.Code(m.member.Attributes)
	if err != nil {
		return nil
	}
	return code
}

// parameterNames are what a parameter is called, as far as the class file says, and what
// its type is called.
func (m method) parameterNames(number int) (names []string) {
	parsed, err := descriptor.ParseMethod(m.Descriptor)
	if err != nil || number >= parsed.NumParams() {
		return nil
	}
	slot := 1
	if m.member.Access.Has(classfile.AccStatic) {
		slot = 0
	}
	var typed string
	for i, p := range parsed.Params() {
		if i == number {
			typed = p.Human()
			break
		}
		slot += p.Slots()
	}
	names = append(names, typed[strings.LastIndexAny(typed, ".$")+1:])
	file := m.class.parsed.File
	if attribute := file.Find(m.member.Attributes, classfile.KindMethodParameters); attribute != nil {
		contents, err := file.Decode(*attribute)
		if table, is := contents.(classfile.MethodParameters); err == nil && is && number < len(table) {
			if name, err := file.Pool.Utf8(table[number].Name); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return append(names, m.localNames(slot)...)
}

// localNames are those of the variable that a method begins with in a slot.
func (m method) localNames(slot int) (names []string) {
	code := m.code()
	if code == nil {
		return nil
	}
	file := m.class.parsed.File
	attribute := file.Find(code.Attributes, classfile.KindLocalVariableTable)
	if attribute == nil {
		return nil
	}
	contents, err := file.Decode(*attribute)
	table, is := contents.(classfile.LocalVariableTable)
	if err != nil || !is {
		return nil
	}
	for _, v := range table {
		if v.Start == 0 && int(v.Slot) == slot {
			if name, err := file.Pool.Utf8(v.Name); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return names
}

func packageOf(class string) string { return class[:max(0, strings.LastIndexByte(class, '/'))] }
