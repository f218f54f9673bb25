package condition

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// Moment is when a condition is asked.
type Moment uint8

// The moments. At exit the method has returned or thrown.
const (
	Entry Moment = iota
	Exit
)

// Class is a loaded class: its file, and what tells run-time packages apart. Its file
// must not be used by anybody else while a condition is checked.
type Class struct {
	File   *classfile.Class
	Loader int // the same number for classes of the same loader
}

// Name returns the class's internal name.
func (c *Class) Name() string { return c.File.Name() }

func (c *Class) isInterface() bool { return c.File.Access.Has(classfile.AccInterface) }

// sharesPackage reports whether two classes are in one run-time package.
func (c *Class) sharesPackage(other *Class) bool {
	return c.Loader == other.Loader && packageOf(c.Name()) == packageOf(other.Name())
}

func packageOf(class string) string { return class[:max(0, strings.LastIndexByte(class, '/'))] }

// Scope is where a condition stands, and what is known there.
type Scope struct {
	Class  *Class
	Method *classfile.Member
	Moment Moment

	// Lookup returns the loaded class of an internal name as Class sees it, nil
	// where there is none.
	Lookup func(name string) *Class

	// Subtypes returns the loaded classes and interfaces below one, at any depth, and
	// whether that is all of them: hidden classes, whose files cannot be had, make it
	// false. Where it is nil only what cannot be overridden is called.
	Subtypes func(name string) (list []*Class, all bool)

	// OwnOnly says that of all classes only Class is certain to be, when it runs, what it
	// is here: another may be of another version then. Getters of Class alone are called,
	// and what is pure by knowledge; fields of others are read, and where one is missing
	// the condition is undecided.
	OwnOnly bool

	// Exported reports whether the module of Class reads the module of a class and
	// has its package exported to it. Where it is nil every class counts as such.
	Exported func(c *Class) bool

	// Probed reports whether a method has a hook, or will have: a condition that
	// called it would count calls that the program does not make. nil: none has.
	Probed func(class, name, descriptor string) bool

	// Tags are the tags that may be asked for, by name, with the number that TagCall
	// is given.
	Tags    map[string]int32
	TagCall TagCall
}

// TagCall names the static method, from int to String, that returns the value of a
// tag, or null. It must be pure, and visible to every class.
type TagCall struct{ Class, Method string }

// Method is a method that a condition relies on.
type Method struct{ Class, Name, Descriptor string }

// Depends is what a condition was found right by. When one of Classes is redefined, or
// when a class loads below one of Open, it must be checked again: what it calls may no
// longer be pure. Until then a condition that was woven may call an override nobody
// has looked at, so the class that brings it should be looked at before it is used.
type Depends struct {
	Classes []string // whose files were read
	Open    []string // whose loaded subtypes were all looked at
	Methods []Method // that the condition may run; none of them may get a hook
}
