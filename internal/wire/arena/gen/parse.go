package main

import (
	"fmt"
	"slices"
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

// parse reads the table and holds it to what both sides rely on: names are
// given once; fields are aligned, also where structures follow each other, do
// not overlap and lie inside their structure.
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
		return l.addConstant(words[1], words[2], strings.TrimSpace(remark))
	case words[0] == "struct" && len(words) >= 3:
		return l.addStruct(words[1], words[2], strings.Join(words[3:], " "))
	case len(words) >= 3 && len(l.structs) > 0:
		return l.structs[len(l.structs)-1].add(words)
	}
	return fmt.Errorf("neither const, struct nor field: %q", line)
}

func (l *layout) addConstant(name, number, meaning string) error {
	if slices.ContainsFunc(l.constants, func(c constant) bool { return c.name == name }) {
		return fmt.Errorf("two constants are called %s", name)
	}
	value, err := strconv.ParseUint(number, 0, 64)
	l.constants = append(l.constants, constant{name, value, meaning})
	return err
}

func (l *layout) addStruct(name, number, meaning string) error {
	if slices.ContainsFunc(l.structs, func(s *structure) bool { return s.name == name }) {
		return fmt.Errorf("two structures are called %s", name)
	}
	size, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return err
	case size <= 0:
		return fmt.Errorf("%s has no size", name)
	case size%mostAlignment != 0:
		return fmt.Errorf("the size of %s is not a multiple of %d", name, mostAlignment)
	}
	l.structs = append(l.structs, &structure{name: name, size: size, meaning: meaning})
	return nil
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
	case size > s.size || offset > s.size-size:
		return fmt.Errorf("%s.%s is outside the structure", s.name, words[2])
	case slices.ContainsFunc(s.fields, func(f field) bool { return f.name == words[2] }):
		return fmt.Errorf("%s has two fields called %s", s.name, words[2])
	}
	s.end = offset + size
	s.fields = append(s.fields, field{words[2], offset, strings.Join(words[3:], " ")})
	return nil
}

// mostAlignment is that of the widest type.
const mostAlignment = 8

// extent is the size and alignment of a type: u32, u64, b bytes, a refs.
func extent(kind string) (size, alignment int, err error) {
	switch kind {
	case "u32":
		return 4, 4, nil
	case "u64":
		return 8, 8, nil
	}
	const mostElements = 1 << 20
	count, err := strconv.Atoi(kind[1:])
	if err == nil && count > 0 && count <= mostElements {
		switch kind[0] {
		case 'b':
			return count, 1, nil
		case 'a':
			return 4 * count, 4, nil
		}
	}
	return 0, 0, fmt.Errorf("unknown type %q", kind)
}
