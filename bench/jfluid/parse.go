package jfluid

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parse reads what the driver printed: "# NAME NUMBER" for what happened,
// "class.method DESCRIPTOR CALLS SELF TOTAL" with tabs for each method. What the
// engine itself prints in between has neither form.
func parse(out string) (*Result, error) {
	var result Result
	var weaving time.Duration
	moments := map[string]*time.Duration{
		"attach": &result.Began, "instrument": &weaving, "woven": &result.Woven, "measuring": &result.Measuring, "fetch": &result.Fetched,
		"remove": &result.Removing, "detached": &result.Gone, "hotswap": &result.HotSwap,
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if event, is := strings.CutPrefix(line, "# "); is {
			name, value, _ := strings.Cut(event, " ")
			number, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("JFluid's driver printed %q: %w", line, err)
			}
			switch {
			case name == "hooks":
				result.Hooks = int(number)
			case name == "rounds":
				result.Rounds = int(number)
			case moments[name] != nil:
				*moments[name] = time.Duration(number)
			}
		} else if fields := strings.Split(line, "\t"); len(fields) == 5 {
			method, err := parseMethod(fields)
			if err != nil {
				return nil, fmt.Errorf("JFluid's driver printed %q: %w", line, err)
			}
			result.Methods = append(result.Methods, method)
		}
	}
	if result.Gone == 0 {
		return nil, fmt.Errorf("JFluid's driver ended before it had left the target")
	}
	return &result, nil
}

// wovenAt is when hooks had ceased to go in, by what was printed so far; 0 if they
// have not.
func wovenAt(out string) time.Duration {
	for line := range strings.Lines(out) {
		if value, is := strings.CutPrefix(line, "# woven "); is {
			nanos, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64) // parse complains of it
			return time.Duration(nanos)
		}
	}
	return 0
}

func parseMethod(fields []string) (Method, error) {
	var numbers [3]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return Method{}, err
		}
	}
	return Method{fields[0], fields[1], numbers[0], time.Duration(numbers[1]), time.Duration(numbers[2])}, nil
}
