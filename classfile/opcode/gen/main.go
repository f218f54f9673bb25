// Command gen generates the constants of the instructions in opcodes.table.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "constants_gen.go", "output file")
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
	var consts bytes.Buffer
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d: want at least four columns", number+1)
		}
		fmt.Fprintf(&consts, "%s Op = %s\n", camel(fields[1]), fields[0])
	}
	return format.Source(fmt.Appendf(nil, "// Code generated from opcodes.table; DO NOT EDIT.\n\npackage opcode\n\n"+
		"// The instructions, named as in the specification without underscores.\nconst (\n%s)\n", &consts))
}

func camel(mnemonic string) string {
	var b strings.Builder
	for _, part := range strings.Split(mnemonic, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
