// Command build compiles the Java sources under agent/src and writes
// agent/dist/sonde-runtime.jar, the same bytes each time.
//
//	go run ./agent/build
//
// The jar is committed, so that building sonde needs no JDK; a test rebuilds
// it and compares.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	agentDir := flag.String("agent", "agent", "the directory that holds src and dist")
	flag.Parse()
	if err := run(*agentDir); err != nil {
		fmt.Fprintln(os.Stderr, "agent/build:", err)
		os.Exit(1)
	}
}

func run(agentDir string) error {
	javac, err := findJavac()
	if err != nil {
		return err
	}
	jar, err := buildJar(javac, agentDir)
	if err != nil {
		return err
	}
	path := jarPath(agentDir)
	if err := os.WriteFile(path, jar, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", path, len(jar))
	return nil
}
