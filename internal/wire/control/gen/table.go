package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A kind is one row of the table.
type kind struct {
	name    string // in capitals
	number  uint64
	from    string // agent, sonde or either
	meaning string
}

var nameForm = regexp.MustCompile(`^[A-Z]+$`)

func parse(text string) ([]kind, error) {
	var kinds []kind
	names, numbers := map[string]bool{}, map[uint64]bool{}
	for index, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d: want a name, a number, a sender and a meaning", index+1)
		}
		// 0 stays free, so that a kind nobody set is none.
		number, err := strconv.ParseUint(fields[1], 10, 8)
		if err != nil || number == 0 {
			return nil, fmt.Errorf("line %d: %q is no number from 1 to 255", index+1, fields[1])
		}
		k := kind{fields[0], number, fields[2], strings.Join(fields[3:], " ")}
		switch {
		case !nameForm.MatchString(k.name):
			return nil, fmt.Errorf("line %d: the name %q is not in capitals", index+1, k.name)
		case k.from != "agent" && k.from != "sonde" && k.from != "either":
			return nil, fmt.Errorf("line %d: %q sends nothing", index+1, k.from)
		case names[k.name] || numbers[k.number]:
			return nil, fmt.Errorf("line %d: %s %d is there already", index+1, k.name, k.number)
		}
		names[k.name], numbers[k.number] = true, true
		kinds = append(kinds, k)
	}
	return kinds, nil
}
