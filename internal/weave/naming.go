package weave

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"unsafe"
)

// MethodID returns the number by which woven code names a method, stable from run to
// run and machine to machine: the CRC-32C of class.name(descriptor).
func MethodID(class, name, descriptor string) int32 {
	sum := crc32.Update(0, castagnoli, []byte(class+"."+name))
	return int32(crc32.Update(sum, castagnoli, []byte(descriptor)))
}

var dot = []byte{'.'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// methodID is MethodID of the target; templates may ask for it several times.
func (g *target) methodID() int32 {
	switch {
	case g.idKnown:
	case g.w.Identify != nil:
		g.id = g.w.Identify(g.w.className, view(g.name), view(g.desc))
	default:
		sum := crc32.Update(g.w.idPrefix, castagnoli, g.name)
		g.id = int32(crc32.Update(sum, castagnoli, g.desc))
	}
	g.idKnown = true
	return g.id
}

func (g *target) methodName() string {
	return dotted(g.w.className) + "." + string(g.name) + string(g.desc)
}

func dotted(internal string) string { return strings.ReplaceAll(internal, "/", ".") }

func itoa(n int) string { return strconv.Itoa(n) }

func versions(need, have uint16) string {
	return fmt.Sprintf("it needs %d, the class is %d", need, have)
}

// view is a string over bytes of a class file, which do not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
