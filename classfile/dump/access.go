package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// flagNames are the words for the bits of an access mask, from the lowest bit on.
// A bit without a word is shown as a number.
type flagNames [16]string

var (
	classFlags = flagNames{0: "public", 4: "final", 5: "super", 9: "interface", 10: "abstract",
		12: "synthetic", 13: "annotation", 14: "enum", 15: "module"}
	innerFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		9: "interface", 10: "abstract", 12: "synthetic", 13: "annotation", 14: "enum"}
	fieldFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		6: "volatile", 7: "transient", 12: "synthetic", 14: "enum"}
	methodFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		5: "synchronized", 6: "bridge", 7: "varargs", 8: "native", 10: "abstract", 11: "strict", 12: "synthetic"}
	parameterFlags = flagNames{4: "final", 12: "synthetic", 15: "mandated"}
	moduleFlags    = flagNames{5: "open", 12: "synthetic", 15: "mandated"}
	requireFlags   = flagNames{5: "transitive", 6: "static", 12: "synthetic", 15: "mandated"}
	exportFlags    = flagNames{12: "synthetic", 15: "mandated"}
)

// text returns the words for the bits set, each with a space behind it.
func (names *flagNames) text(access classfile.Access) string {
	var b strings.Builder
	for bit, name := range names {
		if access>>bit&1 == 0 {
			continue
		}
		if name == "" {
			name = fmt.Sprintf("0x%04x", 1<<bit)
		}
		b.WriteString(name)
		b.WriteByte(' ')
	}
	return b.String()
}
