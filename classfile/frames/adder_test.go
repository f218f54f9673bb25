package frames_test

import (
	"regexp"
	"strconv"
	"strings"
)

// adder adds the frames of a method up, from the lines the reference parser writes:
// a second opinion that shares nothing with Expand.
type adder struct {
	class  string
	locals []string
}

var (
	frameLine  = regexp.MustCompile(`^(L\d+) (same|chop|append|full)\b,?(.*)$`)
	methodLine = regexp.MustCompile(`^([0-9a-f]{4}) "(.*)":"\((.*)\)(.*)"$`)
	argument   = regexp.MustCompile(`\[*(?:L[^;]*;|[A-Z])`)
	verified   = regexp.MustCompile(`"[^"]*"|[^ \[\]]+`)
)

// enter begins a method, given as "access name:descriptor".
func (a *adder) enter(method string) {
	a.locals = nil
	parts := methodLine.FindStringSubmatch(method)
	if parts == nil {
		return
	}
	access, _ := strconv.ParseUint(parts[1], 16, 16) // the pattern admits nothing else
	if access&0x0008 == 0 {
		this := a.class
		if parts[2] == "<init>" && a.class != `"java/lang/Object"` {
			this = "uninitializedThis"
		}
		a.locals = append(a.locals, this)
	}
	for _, descriptor := range argument.FindAllString(parts[3], -1) {
		a.locals = append(a.locals, verificationType(descriptor))
	}
}

func verificationType(descriptor string) string {
	switch descriptor[0] {
	case 'J':
		return "long"
	case 'D':
		return "double"
	case 'F':
		return "float"
	case '[':
		return `"` + descriptor + `"`
	case 'L':
		return `"` + descriptor[1:len(descriptor)-1] + `"`
	}
	return "int"
}

// add takes a line that may be a frame and returns it in full.
func (a *adder) add(line string) (string, bool) {
	parts := frameLine.FindStringSubmatch(line)
	if parts == nil {
		return "", false
	}
	position, form, rest := parts[1], parts[2], strings.TrimSpace(strings.TrimPrefix(parts[3], " extended,"))
	stack := "[]"
	switch form {
	case "same":
		rest = strings.TrimSpace(strings.TrimPrefix(rest, "extended"))
		if typ, ok := strings.CutPrefix(rest, "stack "); ok {
			stack = "[" + typ + "]"
		}
	case "chop":
		n, _ := strconv.Atoi(rest)
		a.locals = a.locals[:len(a.locals)-n]
	case "append":
		a.locals = append(a.locals[:len(a.locals):len(a.locals)], verified.FindAllString(rest, -1)...)
	case "full":
		var locals string
		locals, stack, _ = strings.Cut(strings.TrimPrefix(rest, "locals "), " stack ")
		a.locals = verified.FindAllString(locals, -1)
	}
	return position + " locals [" + strings.Join(a.locals, " ") + "] stack " + stack, true
}
