// Command build compiles the Java sources of the agent and writes what sonde
// embeds, agent/dist/*, the same bytes each time:
//
//	src                        → sonde-runtime.jar, for programs woven ahead
//	stub, control, hooks       → sonde-agent.jar, for running JVMs
//	live                       → live.class and others, templates woven in there
//
//	go run ./agent/build
//
// The results are committed, so that building sonde needs no JDK; a test
// rebuilds them and compares.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	agentDir := flag.String("agent", "agent", "the directory that holds the sources and dist")
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
	built, err := products(javac, agentDir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(built)) {
		path := filepath.Join(agentDir, "dist", name)
		if err := os.WriteFile(path, built[name], 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", path, len(built[name]))
	}
	return nil
}
