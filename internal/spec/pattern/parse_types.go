package pattern

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// params reads the parameter list between two offsets, parentheses included.
func (p *parser) params(pattern *Pattern, start, end int) {
	pattern.hasParams = true
	closing := strings.IndexByte(p.text[start:end], ')')
	if closing < 0 {
		p.fail(end, "the parameter list should end with )")
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
				p.fail(pos, ".. can only be the last of the parameters")
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
		p.fail(start, "a type should stand here, such as int or java.lang.String")
		return tp
	case "*", "**":
		tp.any = true
		return tp
	}
	if t, err := descriptor.ParseHuman(name); err == nil && t.Kind() != 'L' {
		tp.primitive = t.Kind()
		if tp.primitive == 'V' && (!voidAllowed || tp.dims > 0) {
			p.fail(start, "void is only a result")
		}
		return tp
	}
	tp.class = p.segments(start, end)
	return tp
}
