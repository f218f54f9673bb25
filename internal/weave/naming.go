package weave

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// MethodID returns the number by which woven code names a method: stable from run
// to run and machine to machine, the 32-bit FNV-1a hash of class.name(descriptor).
func MethodID(class, name, descriptor string) int32 {
	return int32(fnv(fnv(fnv(fnv(fnvStart, class), "."), name), descriptor))
}

const fnvStart uint32 = 2166136261

func fnv(h uint32, s string) uint32 {
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// methodID is MethodID of the target; templates may ask for it several times.
func (g *target) methodID() int32 {
	if !g.idKnown {
		g.id, g.idKnown = int32(fnv(fnv(g.w.idPrefix, view(g.name)), view(g.desc))), true
	}
	return g.id
}

func (g *target) methodName() string {
	return dotted(g.w.className) + "." + string(g.name) + string(g.desc)
}

func dotted(internal string) string { return strings.ReplaceAll(internal, "/", ".") }

func lastParen(desc []byte) int {
	end := len(desc) - 1
	for desc[end] != ')' {
		end--
	}
	return end
}

func itoa(n int) string { return strconv.Itoa(n) }

func versions(need, have uint16) string {
	return fmt.Sprintf("it needs %d, the class is %d", need, have)
}

// view is a string over bytes of a class file, which do not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
