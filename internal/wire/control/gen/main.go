// Command gen generates constants from kinds.table: a Go file and a Java file.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	goFile := flag.String("go", "kinds_gen.go", "output file of Go")
	javaFile := flag.String("java", "../../../agent/control/src8/sonde/agent/control/Kind.java", "output file of Java")
	flag.Parse()
	table := "kinds.table"
	if flag.NArg() > 0 {
		table = flag.Arg(0)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		log.Fatal(err)
	}
	kinds, err := parse(string(text))
	if err != nil {
		log.Fatalf("%s: %v", table, err)
	}
	goSource, err := goConstants(kinds)
	if err != nil {
		log.Fatal(err)
	}
	for file, source := range map[string][]byte{*goFile: goSource, *javaFile: javaConstants(kinds)} {
		if err := write(file, source); err != nil {
			log.Fatal(err)
		}
	}
}

func write(file string, source []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, source, 0o644)
}

// A kind is one row of the table.
type kind struct {
	name    string // in capitals
	number  uint64
	from    string // agent, sonde or either
	answer  string // LAST or PART+LAST; - for none
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
		if len(fields) < 5 {
			return nil, fmt.Errorf("line %d: want a name, a number, a sender, an answer and a meaning", index+1)
		}
		// 0 stays free, so that a kind nobody set is none.
		number, err := strconv.ParseUint(fields[1], 10, 8)
		if err != nil || number == 0 {
			return nil, fmt.Errorf("line %d: %q is no number from 1 to 255", index+1, fields[1])
		}
		k := kind{fields[0], number, fields[2], fields[3], strings.Join(fields[4:], " ")}
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
	for _, k := range kinds {
		for _, name := range strings.Split(k.answer, "+") {
			if k.answer != "-" && (k.from != "sonde" || !names[name]) {
				return nil, fmt.Errorf("%s is answered by %s: want a request of Sonde, and a kind", k.name, k.answer)
			}
		}
	}
	return kinds, nil
}

const header = "// Code generated from internal/wire/control/kinds.table; DO NOT EDIT.\n\n"

func goConstants(kinds []kind) ([]byte, error) {
	var constants, rows bytes.Buffer
	for _, k := range kinds {
		fmt.Fprintf(&constants, "%s Kind = %d // %s\n", constant(k.name), k.number, k.meaning)
		fmt.Fprintf(&rows, "%s: {name: %q, from: from%s", constant(k.name), k.name, strings.ToUpper(k.from[:1])+k.from[1:])
		part, last, parts := strings.Cut(k.answer, "+")
		switch {
		case parts:
			fmt.Fprintf(&rows, ", part: %s, last: %s", constant(part), constant(last))
		case k.answer != "-":
			fmt.Fprintf(&rows, ", last: %s", constant(k.answer))
		}
		rows.WriteString("},\n")
	}
	return format.Source(fmt.Appendf(nil, header+"package control\n\n"+
		"// The kinds of frames.\nconst (\n%s)\n\nvar kinds = [256]kindInfo{\n%s}\n", &constants, &rows))
}

func constant(name string) string { return "Kind" + name[:1] + strings.ToLower(name[1:]) }

func javaConstants(kinds []kind) []byte {
	var source bytes.Buffer
	source.WriteString(header + "package sonde.agent.control;\n\n" +
		"/** The kinds of frames between the agent and Sonde. */\nfinal class Kind {\n")
	for _, k := range kinds {
		fmt.Fprintf(&source, "    /** From %s: %s. */\n    static final int %s = %d;\n\n", sender(k.from), k.meaning, k.name, k.number)
	}
	source.WriteString("    private Kind() {}\n}\n")
	return source.Bytes()
}

func sender(from string) string {
	switch from {
	case "agent":
		return "the agent"
	case "sonde":
		return "Sonde"
	}
	return "either side"
}
