package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// names are the methods' names for people, by index: com.acme.Cart.total, with its
// parameters where another method is called the same.
func names(methods []cct.Method) []string {
	often := map[string]int{}
	for _, m := range methods {
		often[m.String()]++
	}
	list := make([]string, len(methods))
	for i, m := range methods {
		list[i] = m.String()
		if often[list[i]] > 1 {
			list[i] += parameters(m.Descriptor)
		}
		list[i] = format.Printable(list[i])
	}
	return list
}

// parameters are a descriptor's, each without its package.
func parameters(text string) string {
	parsed, err := descriptor.ParseMethod(text)
	if err != nil {
		return text
	}
	list := make([]string, 0, parsed.NumParams())
	for _, p := range parsed.Params() {
		human := p.Human()
		list = append(list, human[strings.LastIndexByte(human, '.')+1:])
	}
	return fmt.Sprintf("(%s)", strings.Join(list, ","))
}

// shorten makes a name fit a number of columns: packages are cut to their first
// letter, the outermost first; if that does not do, the beginning goes.
func shorten(name string, room int) string {
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	head, tail := name, ""
	if i := strings.IndexByte(name, '('); i >= 0 {
		head, tail = name[:i], name[i:]
	}
	parts := strings.Split(head, ".")
	for i := 0; i < len(parts)-2 && utf8.RuneCountInString(head+tail) > room; i++ {
		_, size := utf8.DecodeRuneInString(parts[i])
		parts[i] = parts[i][:size]
		head = strings.Join(parts, ".")
	}
	return keepEnd(head+tail, room)
}

// keepEnd cuts the beginning of a text that is too long.
func keepEnd(text string, room int) string {
	const least = 12
	runes := []rune(text)
	room = max(room, least)
	if len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-room+1:])
}
