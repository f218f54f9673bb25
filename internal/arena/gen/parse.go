package main

import (
	"fmt"
	"strconv"
	"strings"
)

type layout struct {
	constants []constant
	structs   []*structure
}

type constant struct {
	name    string
	value   uint64
	meaning string
}

type structure struct {
	name    string
	size    int
	meaning string
	fields  []field
	end     int // of the last field
}

type field struct {
	name    string
	offset  int
	meaning string
}

// parse reads the table and holds it to what both sides rely on: fields are
// aligned, do not overlap and lie inside their structure.
func parse(text string) (*layout, error) {
	l := &layout{}
	for number, line := range strings.Split(text, "\n") {
		if err := l.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	return l, nil
}

func (l *layout) line(line string) error {
	line, remark, _ := strings.Cut(line, "#")
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return nil
	case words[0] == "const" && len(words) == 3:
		value, err := strconv.ParseUint(words[2], 0, 64)
		l.constants = append(l.constants, constant{words[1], value, strings.TrimSpace(remark)})
		return err
	case words[0] == "struct" && len(words) >= 3:
		size, err := strconv.Atoi(words[2])
		l.structs = append(l.structs, &structure{name: words[1], size: size, meaning: strings.Join(words[3:], " ")})
		return err
	case len(words) >= 3 && len(l.structs) > 0:
		return l.structs[len(l.structs)-1].add(words)
	}
	return fmt.Errorf("neither const, struct nor field: %q", line)
}

func (s *structure) add(words []string) error {
	offset, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	size, alignment, err := extent(words[1])
	switch {
	case err != nil:
		return err
	case offset%alignment != 0:
		return fmt.Errorf("%s.%s is not aligned", s.name, words[2])
	case offset < s.end:
		return fmt.Errorf("%s.%s overlaps what stands before it", s.name, words[2])
	case offset+size > s.size:
		return fmt.Errorf("%s.%s is outside the structure", s.name, words[2])
	}
	s.end = offset + size
	s.fields = append(s.fields, field{words[2], offset, strings.Join(words[3:], " ")})
	return nil
}

// extent is the size and alignment of a type: u32, u64, b bytes, a refs.
func extent(kind string) (size, alignment int, err error) {
	switch kind {
	case "u32":
		return 4, 4, nil
	case "u64":
		return 8, 8, nil
	}
	count, err := strconv.Atoi(kind[1:])
	switch kind[0] {
	case 'b':
		return count, 1, err
	case 'a':
		return 4 * count, 4, err
	}
	return 0, 0, fmt.Errorf("unknown type %q", kind)
}
