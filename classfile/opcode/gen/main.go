// Command gen turns opcodes.table into Go.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"strconv"
	"strings"
)

var shapes = map[string]struct {
	name   string
	length int
}{
	"none": {"None", 1}, "s1": {"S1", 2}, "s2": {"S2", 3}, "cp1": {"CP1", 2}, "cp2": {"CP2", 3},
	"local": {"Local", 2}, "iinc": {"IncLocal", 3}, "jump2": {"Jump2", 3}, "jump4": {"Jump4", 5},
	"table": {"Table", 0}, "lookup": {"Lookup", 0}, "iface": {"Interface", 5}, "indy": {"Dynamic", 5},
	"atype": {"ArrayType", 2}, "multi": {"MultiArray", 4}, "wide": {"WidePrefix", 0},
}

func main() {
	log.SetFlags(0)
	out := flag.String("o", "table_gen.go", "output file")
	flag.Parse()
	text, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	src, err := generate(string(text))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, src, 0o644); err != nil {
		log.Fatal(err)
	}
}

func generate(text string) ([]byte, error) {
	var consts, rows bytes.Buffer
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d: want at least four columns", number+1)
		}
		value, err := strconv.ParseUint(fields[0], 0, 8)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		shape, ok := shapes[fields[2]]
		if !ok {
			return nil, fmt.Errorf("line %d: no operand shape %q", number+1, fields[2])
		}
		name, base := camel(fields[1]), camel(fields[1])
		if len(fields) > 4 {
			base = camel(fields[4])
		}
		delta, err := delta(fields[3])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		fmt.Fprintf(&consts, "%s Op = %#02x\n", name, value)
		fmt.Fprintf(&rows, "%s: {%q, %q, %s, %s, -1, %s, %d},\n",
			name, fields[1], fields[3], shape.name, base, delta, shape.length)
	}
	src := fmt.Sprintf("// Code generated from opcodes.table; DO NOT EDIT.\n\npackage opcode\n\n"+
		"// The instructions, named as in the specification without underscores.\nconst (\n%s)\n\nvar table = [256]Info{\n%s}\n", &consts, &rows)
	return format.Source([]byte(src))
}

func camel(mnemonic string) string {
	var b strings.Builder
	for _, part := range strings.Split(mnemonic, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// delta is the change of depth in slots that an effect column stands for.
func delta(effect string) (string, error) {
	if effect == "*" {
		return "UnknownDelta", nil
	}
	if effect[0] == '*' {
		n, err := strconv.Atoi(effect[1:])
		return strconv.Itoa(n), err
	}
	before, after, ok := strings.Cut(effect, ":")
	if !ok {
		return "", fmt.Errorf("effect %q has no colon", effect)
	}
	return strconv.Itoa(slots(after) - slots(before)), nil
}

func slots(types string) int {
	return len(types) + strings.Count(types, "L") + strings.Count(types, "D")
}
