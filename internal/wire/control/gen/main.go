// Command gen turns kinds.table into constants: one file of Go, one of Java.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
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
