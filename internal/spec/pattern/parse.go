package pattern

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// maxPattern is the maximum length of a pattern, as of a descriptor in a class file.
const maxPattern = 65535

// Parse parses a pattern. The error is an [Error].
func Parse(text string) (*Pattern, error) {
	p := newParser(text)
	pattern := p.pattern()
	if p.err != nil {
		return nil, p.err
	}
	return pattern, nil
}

func newParser(text string) *parser {
	p := &parser{text: otherSpellings.Replace(removeBlanks(text))}
	if len(p.text) > maxPattern {
		p.text = p.text[:40] + "…"
		p.fail(0, "the pattern is longer than 65535 bytes")
	}
	return p
}

// otherSpellings are the separators of method references, documentation comments and class files.
var otherSpellings = strings.NewReplacer("::new", ".<init>", "::", ".", "#", ".", "/", ".")

// callsWord is the word between a method and what it calls.
const callsWord = " calls "

// removeBlanks removes blanks around commas and at the ends, and all but one around calls. A
// blank between two letters remains, and is rejected later.
func removeBlanks(text string) string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	text = strings.Join(parts, ",")
	if words := strings.Fields(text); slices.Contains(words, strings.TrimSpace(callsWord)) {
		text = strings.Join(words, " ")
	}
	return text
}

// parser keeps the first error; later ones are consequences.
type parser struct {
	text string
	err  error
}

func (p *parser) fail(offset int, detail string) {
	if p.err == nil {
		p.err = &Error{Kind: "pattern", Text: p.text, Offset: offset, Detail: detail}
	}
}

func (p *parser) pattern() *Pattern {
	pattern := &Pattern{text: p.text}
	start, end := 0, len(p.text)
	if strings.HasPrefix(p.text, "!") {
		pattern.exclude = true
		start = 1
	}
	at := strings.Index(p.text, callsWord)
	if at < start {
		p.methods(pattern, start, end)
		return pattern
	}
	called := at + len(callsWord)
	pattern.callers, pattern.called, pattern.learned = &Pattern{text: p.text[start:at]}, &Pattern{text: p.text[called:]}, newLearned()
	p.methods(pattern.callers, start, at)
	if strings.HasPrefix(p.text[called:], "@") {
		p.fail(called, "a method is expected after calls, as in java.net.Socket.connect")
	}
	p.named(pattern.called, called, end)
	return pattern
}

// methods parses a pattern without calls between two offsets.
func (p *parser) methods(pattern *Pattern, start, end int) {
	if !strings.HasPrefix(p.text[start:end], "@") {
		p.named(pattern, start, end)
		return
	}
	pattern.annotation, pattern.learned = p.segments(start+1, end), newLearned()
}

// named parses Class.Method(Params):Result between two offsets.
func (p *parser) named(pattern *Pattern, start, end int) {
	if at := strings.IndexByte(p.text[start:end], ':'); at >= 0 {
		at += start
		result := p.typePattern(at+1, end, true)
		pattern.result = &result
		end = at
	}
	if at := strings.IndexByte(p.text[start:end], '('); at >= 0 {
		at += start
		p.params(pattern, at, end)
		end = at
	}
	p.qualified(pattern, start, end)
}

// qualified parses Class.Method between two offsets.
func (p *parser) qualified(pattern *Pattern, start, end int) {
	name := p.text[start:end]
	if name == "" {
		p.fail(start, "a class and a method are expected here, as in com.acme.Order.pay")
		return
	}
	dot := strings.LastIndexByte(name, '.')
	method, class := name[dot+1:], name[:max(dot, 0)]
	pattern.subtypes = strings.HasSuffix(class, "+")
	if method == "**" && !pattern.subtypes {
		pattern.class = p.segments(start, end)
		pattern.method = "*"
		return
	}
	if dot < 0 {
		p.fail(start, "the class of the method is missing; write **."+name+" for "+name+" in every class, or "+name+".** for every method of a class "+name)
		return
	}
	wildcard := strings.IndexByte(class, '*')
	switch {
	case pattern.subtypes && wildcard >= 0:
		p.fail(start+wildcard, "+ stands for the subtypes of one class: write its name without *")
	case pattern.subtypes:
		class = strings.TrimSuffix(class, "+")
	}
	pattern.class = p.segments(start, start+len(class))
	if wildcard < 0 {
		pattern.learned = newLearned()
	}
	if pattern.subtypes && method == "**" {
		pattern.method = "*"
		return
	}
	pattern.method = p.methodName(start+dot+1, end)
}

func (p *parser) methodName(start, end int) string {
	name := p.text[start:end]
	if name == "" {
		p.fail(start, "the name of a method is expected here; * means all of them")
		return ""
	}
	if name == "<init>" || name == "<clinit>" {
		return name
	}
	if i := strings.IndexAny(name, "<>"); i >= 0 {
		p.fail(start+i, "< and > are allowed only in <init> (constructors) and <clinit> (static initializers)")
	}
	p.checkLetters(start, end)
	return name
}

// segments parses a class name or pattern between two offsets.
func (p *parser) segments(start, end int) []segment {
	var segments []segment
	name := p.text[start:end]
	for pos := 0; pos <= len(name) && p.err == nil; {
		stop := segmentEnd(name, pos)
		s := segment{glob: name[pos:stop], nested: isNested(name, pos) && isSeparator(name, pos-1)}
		switch {
		case s.glob == "":
			p.fail(start+pos, "a name is missing here")
		case s.glob == "**":
			s.any = true
		default:
			p.checkLetters(start+pos, start+stop)
		}
		segments = append(segments, s)
		pos = stop + 1
	}
	return segments
}

// checkLetters rejects characters that cannot be part of a name.
func (p *parser) checkLetters(start, end int) {
	name := p.text[start:end]
	if i := strings.Index(name, "**"); i >= 0 {
		p.fail(start+i, "** stands for whole names; within one name write *")
	}
	for i, r := range name {
		switch {
		case strings.ContainsRune("()[];<>,:!", r):
			p.fail(start+i, "'"+string(r)+"' cannot be part of a name")
		case unicode.IsSpace(r) || unicode.IsControl(r):
			p.fail(start+i, "a blank cannot be part of a name")
		}
	}
}

// params parses the parameter list between two offsets, including its parentheses.
func (p *parser) params(pattern *Pattern, start, end int) {
	pattern.hasParams = true
	closing := strings.IndexByte(p.text[start:end], ')')
	if closing < 0 {
		p.fail(end, "the parameter list must end with )")
		return
	}
	closing += start
	if closing+1 != end {
		p.fail(closing+1, "only a result such as :void may follow the parameters")
		return
	}
	pos := start + 1
	if pos == closing {
		return
	}
	for p.err == nil {
		stop := closing
		if comma := strings.IndexByte(p.text[pos:closing], ','); comma >= 0 {
			stop = pos + comma
		}
		if p.text[pos:stop] == ".." {
			pattern.rest = true
			if stop != closing {
				p.fail(pos, ".. must be the last parameter")
			}
			return
		}
		pattern.params = append(pattern.params, p.typePattern(pos, stop, false))
		if stop == closing {
			return
		}
		pos = stop + 1
	}
}

func (p *parser) typePattern(start, end int, voidAllowed bool) typePattern {
	var tp typePattern
	for strings.HasSuffix(p.text[start:end], "[]") {
		tp.dims++
		end -= 2
	}
	name := p.text[start:end]
	switch name {
	case "":
		p.fail(start, "a type is expected here, such as int or java.lang.String")
		return tp
	case "*", "**":
		tp.any = true
		return tp
	}
	if letter := descriptor.PrimitiveLetter(name); letter != 0 {
		tp.primitive = letter
		if tp.primitive == 'V' && (!voidAllowed || tp.dims > 0) {
			p.fail(start, "void is allowed only as a result")
		}
		return tp
	}
	tp.class = p.segments(start, end)
	return tp
}

// Of returns the pattern that names a method, without parameters if it is alone in its class with its name. It is
// empty if no pattern names this method and no other.
func Of(m classfile.MethodRef, alone bool) string {
	text := m.QualifiedName()
	if !alone && m.Descriptor != "" {
		parsed, err := descriptor.ParseMethod(m.Descriptor)
		if err != nil {
			return ""
		}
		parameters := make([]string, 0, parsed.NumParams())
		for _, parameter := range parsed.Params() {
			parameters = append(parameters, parameter.Human())
		}
		text += "(" + strings.Join(parameters, ",") + "):" + parsed.Return().Human()
	}
	parsed, err := Parse(text)
	if err != nil || strings.Contains(text, "*") || m.Descriptor != "" && !parsed.Match(m) {
		return ""
	}
	return text
}
