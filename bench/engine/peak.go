package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// peakMemory is the most memory a process held resident (VmHWM), in KiB.
type peakMemory struct {
	What string
	KiB  int
	Note string `json:",omitempty"`
}

// peaks runs each of our ways once in a fresh process and asks that process; the
// JVM's own peak is that of this whole run.
func peaks(java *asmSide) []peakMemory {
	var all []peakMemory
	for _, p := range []peakMemory{
		{What: "load", Note: "Sonde's side with all classes in memory, nothing done yet"},
		{What: "lift", Note: "then one round of parse + lift"},
		{What: "weave", Note: "then one round of weaving with the built-in probe"},
	} {
		p.KiB = peakOfChild(p.What)
		all = append(all, p)
	}
	return append(all, peakMemory{"JVM", residentPeak(java.process.Process.Pid), "ASM's side, whole run, -Xmx2g"})
}

// peakOfChild is 0 where it cannot be known.
func peakOfChild(what string) int {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	out, err := exec.Command(self, "--peak", what).Output()
	if err != nil {
		return 0
	}
	var kib int
	if _, err := fmt.Sscan(string(bytes.TrimSpace(out)), &kib); err != nil {
		return 0
	}
	return kib
}

// printPeak is what the child does. Reading the image maps all of it, so the
// kernel's mark is set back once the classes are copied.
func printPeak(what string, classes [][]byte) error {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return err
	}
	switch what {
	case "load":
	case "lift":
		if _, err := liftRound(classes); err != nil {
			return err
		}
	case "weave":
		template, err := builtinTemplate("probe")
		if err != nil {
			return err
		}
		if _, err := weaveRound(classes, template, 1); err != nil {
			return err
		}
	default:
		return fmt.Errorf("--peak %s: load, lift or weave", what)
	}
	fmt.Println(residentPeak(os.Getpid()))
	return nil
}

func residentPeak(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}
