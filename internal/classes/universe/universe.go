// Package universe is the model of the classes that a JVM has loaded: their names,
// loaders and class files, and which class extends which. A class file is parsed only
// once, when it is first needed.
//
// A Universe can also be made from class files that no JVM has loaded yet.
package universe

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// Loaded is a class that the JVM has loaded, as a session reports it.
type Loaded struct {
	Name   string   // internal
	Loader uint32   // number of its class loader in this session; 0 is the boot loader
	File   []byte   // its class file; nil where it is not known
	Reason string   // why it cannot have hooks; "" where it can
	Supers []string // of a class whose file is not known, such as a proxy: its superclass and interfaces
}

// A Universe holds the loaded classes, as far as they are known. It is not safe for
// concurrent use.
type Universe struct {
	// Library is the target's run-time image, which has the files of the JDK's classes;
	// may be nil.
	Library *jimage.Image
	// IsAhead says that no JVM has loaded these classes yet: unknown classes may load, and
	// which of several classes of one name will load is open.
	IsAhead bool

	classes  map[string][]*Class // by name: several loaders may each have one
	unloaded map[string]*Class   // classes of the library that were looked for and are not loaded
	below    map[string][]*Class // direct subtypes, by name; nil until they are needed
	loaders  map[string][]int    // loaders that have classes of a package
	guesses  int                 // loaders that were made up for classes that are loading
	opaque   bool                // there are classes without a file that may extend anything
	proxied  bool                // there are classes without a file that may implement any interface
}

// A Class is a loaded class.
type Class struct {
	Name   string   // internal
	Loader int      // negative where the loader is not known
	Reason string   // why it cannot have hooks; "" where it can
	Supers []string // as in Loaded
	Origin Origin

	isGuessed bool   // the loader is a guess
	file      []byte // nil where only the library has it, or none is known
	parsed    *classfile.Class
	isBroken  bool // its file cannot be read
}

// An Origin says how a class became known.
type Origin uint8

// The origins.
const (
	Listed  Origin = iota // from a list of loaded classes
	Arrived               // it was shown while it loaded
	Fresh                 // it was shown while it loaded, since the last call of Settle
)

// New returns a universe without classes.
func New(library *jimage.Image) *Universe {
	return &Universe{Library: library, classes: make(map[string][]*Class), loaders: make(map[string][]int)}
}

// Of returns a universe of loaded classes.
func Of(library *jimage.Image, classes []Loaded) *Universe {
	u := New(library)
	for _, c := range classes {
		u.Add(c)
	}
	return u
}

// Add adds a class that is loaded. A class that is known may be added again. Classes of
// Sonde itself and hidden classes are not kept.
func (u *Universe) Add(loaded Loaded) {
	if IsSondes(loaded.Name) {
		return
	}
	if isHidden(loaded.Name) {
		u.addUnreadable(loaded.Name, int(loaded.Loader))
		return
	}
	for _, c := range u.classes[loaded.Name] {
		if c.Loader != int(loaded.Loader) && !c.isGuessed {
			continue
		}
		c.Loader, c.isGuessed = int(loaded.Loader), false
		if c.file == nil && loaded.File != nil {
			c.file, c.isBroken = loaded.File, false
			if u.below != nil {
				u.indexClass(c)
			}
		}
		if c.Reason == "" {
			c.Reason = loaded.Reason
		}
		return
	}
	u.put(&Class{Name: loaded.Name, Loader: int(loaded.Loader), file: loaded.File, Reason: loaded.Reason, Supers: loaded.Supers})
}

// Load adds a class that is loading.
func (u *Universe) Load(name string, file []byte) *Class {
	c := &Class{Name: strings.Clone(name), file: slices.Clone(file), isGuessed: true, Origin: Fresh}
	c.Loader = u.guessLoader(name)
	u.put(c)
	return c
}

func (u *Universe) put(c *Class) {
	u.classes[c.Name] = append(u.classes[c.Name], c)
	if own := descriptor.PackageOf(c.Name); c.Loader >= 0 && !slices.Contains(u.loaders[own], c.Loader) {
		u.loaders[own] = append(u.loaders[own], c.Loader)
	}
	if u.below != nil {
		u.indexClass(c)
	}
}

// guessLoader returns the loader of the other classes of a package if they share one,
// otherwise one that no class has: then nothing that is private to a package can be read.
func (u *Universe) guessLoader(name string) int {
	if found := u.loaders[descriptor.PackageOf(name)]; len(found) == 1 {
		return found[0]
	}
	u.guesses++
	return -u.guesses
}

// Settle makes no class count as Fresh any more.
func (u *Universe) Settle() {
	for _, list := range u.classes {
		for _, c := range list {
			if c.Origin == Fresh {
				c.Origin = Arrived
			}
		}
	}
}

// IsSondes reports whether a class belongs to Sonde.
func IsSondes(class string) bool {
	return strings.HasPrefix(class, "sonde/agent/") || strings.HasPrefix(class, "java/lang/Sonde")
}

// Proxied returns what a class that was made at run time stands for, by its name: the superclass of one that
// CGLIB has made. That of one of java.lang.reflect.Proxy is not known from its name.
func Proxied(class string) (super string, isProxy bool) {
	last := class[strings.LastIndexByte(class, '/')+1:]
	if number, is := strings.CutPrefix(last, "$Proxy"); is && number != "" && strings.Trim(number, "0123456789") == "" {
		return "", true
	}
	super, kind, _ := strings.Cut(class, "$$")
	return super, strings.Contains(kind, "CGLIB$$") && !strings.Contains(kind, "FastClass")
}

// isHidden reports whether a class is hidden: the part of its name after the last slash
// or plus begins with a digit.
func isHidden(class string) bool {
	at := strings.LastIndexAny(class, "/+")
	return at >= 0 && at+1 < len(class) && class[at+1] >= '0' && class[at+1] <= '9'
}

// Named returns the classes of a name.
func (u *Universe) Named(name string) []*Class { return u.classes[name] }

// All yields all classes by name.
func (u *Universe) All() iter.Seq[*Class] {
	return func(yield func(*Class) bool) {
		for _, name := range slices.Sorted(maps.Keys(u.classes)) {
			for _, c := range u.classes[name] {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Len returns how many classes are known.
func (u *Universe) Len() (n int) {
	for _, list := range u.classes {
		n += len(list)
	}
	return n
}

// IsJDK reports whether a class is the JDK's own. Without a library those are the classes
// of the boot loader.
func (u *Universe) IsJDK(c *Class) bool {
	return u.Library.IsJDK(c.Name) || u.Library == nil && c.Loader == 0
}

// File returns the file of a class; nil where it is not known.
func (u *Universe) File(c *Class) []byte {
	if c.file == nil {
		return u.Library.Class(c.Name)
	}
	return c.file
}

// Digest returns the SHA-256 sum of the file of a class; "" where it is not known, or several loaders have a class of this name.
func (u *Universe) Digest(name string) string {
	if list := u.classes[name]; len(list) == 1 {
		if file := u.File(list[0]); file != nil {
			return fmt.Sprintf("%x", sha256.Sum256(file))
		}
	}
	return ""
}

// Open parses the file of a class; nil where there is none or it is damaged.
func (u *Universe) Open(c *Class) *classfile.Class {
	if c.parsed != nil || c.isBroken {
		return c.parsed
	}
	parsed, err := classfile.Parse(u.File(c))
	if err != nil || parsed.Name() != c.Name {
		c.isBroken = true
		return nil
	}
	c.parsed = parsed
	return parsed
}

// Lookup returns the class of a name as another class sees it; nil where there is none
// that is certain and can be read.
func (u *Universe) Lookup(name string, from *Class) *Class {
	c := u.resolve(name, from)
	if c == nil || u.IsAhead && len(u.classes[name]) > 1 || u.Open(c) == nil {
		return nil
	}
	return c
}

// resolve returns the class of the same loader, else the boot loader's, else the only one
// of the name. Among several others it is not known which it is.
func (u *Universe) resolve(name string, from *Class) *Class {
	list := u.classes[name]
	if u.IsAhead && len(list) == 0 && u.Library.Has(name) {
		u.put(&Class{Name: name}) // it will be loaded by the boot loader, or a loader that all others ask
		list = u.classes[name]
	}
	return seenFrom(list, from)
}

func seenFrom(list []*Class, from *Class) *Class {
	for _, loader := range []int{from.Loader, 0} {
		for _, c := range list {
			if c.Loader == loader {
				return c
			}
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return nil
}

// find is resolve for classes that need not be loaded: the library is searched, too.
func (u *Universe) find(name string, from *Class) *Class {
	if list := u.classes[name]; len(list) > 0 {
		return seenFrom(list, from)
	}
	c := u.unloaded[name]
	if c == nil && u.Library.Has(name) {
		c = &Class{Name: name}
		if u.unloaded == nil {
			u.unloaded = make(map[string]*Class)
		}
		u.unloaded[name] = c
	}
	return c
}

// Subtypes returns the readable classes below one, at any depth, and whether that is all
// of them.
func (u *Universe) Subtypes(name string) (list []*Class, all bool) {
	u.index()
	all = !u.opaque
	for _, c := range u.classes[name] {
		if parsed := u.Open(c); u.proxied && parsed != nil && parsed.Access.Has(classfile.AccInterface) {
			all = false
		}
	}
	met := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for _, c := range u.below[todo[0]] {
			if u.Open(c) == nil {
				all = false
				continue
			}
			list = append(list, c)
			if !met[c.Name] {
				met[c.Name] = true
				todo = append(todo, c.Name)
			}
		}
	}
	return list, all
}

// Ancestors returns the names of a class and of all classes and interfaces above it.
func (u *Universe) Ancestors(c *Class) []string {
	met := map[string]bool{c.Name: true}
	names := []string{c.Name}
	for todo := []*Class{c}; len(todo) > 0; todo = todo[1:] {
		parsed := u.Open(todo[0])
		if parsed == nil {
			continue
		}
		for _, name := range Parents(parsed) {
			if met[name] {
				continue
			}
			met[name] = true
			names = append(names, name)
			if next := u.find(name, todo[0]); next != nil {
				todo = append(todo, next)
			}
		}
	}
	return names
}

// Types returns the classes by name, as one class sees them. What is not loaded is looked for in the
// library.
func (u *Universe) Types(from *Class) *Types {
	return &Types{universe: u, from: from, above: make(map[string][]string)}
}

// Types are classes by name.
type Types struct {
	universe *Universe
	from     *Class
	above    map[string][]string
}

// Above returns the names of a class and of all classes and interfaces above it, as far as they are known.
func (t *Types) Above(name string) []string {
	if known, is := t.above[name]; is {
		return known
	}
	names := []string{name}
	if c := t.find(name); c != nil {
		names = t.universe.Ancestors(c)
	}
	t.above[name] = names
	return names
}

// Open returns a class; nil if it is not known or cannot be read.
func (t *Types) Open(name string) *classfile.Class {
	if c := t.find(name); c != nil {
		return t.universe.Open(c)
	}
	return nil
}

// IsAwaited reports whether the class is loading, and a class or interface above it has yet to load.
func (t *Types) IsAwaited() bool {
	isUnknown := func(name string) bool { return name != "java/lang/Object" && t.find(name) == nil }
	return t.from.Origin == Fresh && slices.ContainsFunc(t.Above(t.from.Name), isUnknown)
}

func (t *Types) find(name string) *Class {
	if name == t.from.Name {
		return t.from
	}
	return t.universe.find(name, t.from)
}

// Parents returns the names of the superclass and the interfaces of a class.
func Parents(class *classfile.Class) (names []string) {
	if super := class.SuperName(); super != "" {
		names = append(names, super)
	}
	for _, at := range class.Interfaces {
		if name, err := class.Pool.ClassName(at); err == nil {
			names = append(names, string(name))
		}
	}
	return names
}

// index finds the direct subtypes of all classes.
func (u *Universe) index() {
	if u.below != nil {
		return
	}
	u.below = make(map[string][]*Class)
	for c := range u.All() {
		u.indexClass(c)
	}
}

func (u *Universe) indexClass(c *Class) {
	parsed := u.Open(c)
	if parsed == nil {
		u.addUnreadable(c.Name, c.Loader)
		return
	}
	for _, super := range Parents(parsed) {
		u.below[super] = append(u.below[super], c)
	}
}

// addUnreadable records what a class that cannot be read may extend. Classes of lambdas
// extend Object and implement their interface, which conditions allow for; what the JDK
// makes for reflection and method handles extends its own classes.
func (u *Universe) addUnreadable(name string, loader int) {
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case strings.Contains(name, "$$Lambda"), loader == 0,
		strings.HasPrefix(name, "java/lang/invoke/"), strings.HasPrefix(name, "jdk/internal/reflect/"):
	case strings.HasPrefix(last, "$Proxy"):
		u.proxied = true
	default:
		u.opaque = true
	}
}
