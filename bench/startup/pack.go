package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A pack is what Sonde's agent weaves from.
type pack struct {
	agent, file      string
	classes, methods int
	size             int64
	took             time.Duration // to make it
}

// buildSonde builds the command, which makes packs.
func buildSonde(ctx context.Context, folder string) (path string, err error) {
	path = filepath.Join(folder, "sonde")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/sonde").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building sonde (run from the top of the repository): %w\n%s", err, out)
	}
	return path, nil
}

// makePack does what a user does, by the same commands.
func makePack(ctx context.Context, sonde, folder string, a application, c choice) (*pack, error) {
	probes := filepath.Join(folder, "probes.yaml")
	if err := os.WriteFile(probes, []byte(c.probes()), 0o644); err != nil {
		return nil, err
	}
	p := &pack{agent: filepath.Join(folder, "sonde-agent.jar"), file: filepath.Join(folder, a.name+".pack"), classes: len(c.classes), methods: c.methods}
	if err := carryOut(ctx, sonde, "agent-jar", p.agent); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := carryOut(ctx, sonde, append([]string{"pack", "--probes", probes, "-o", p.file}, a.jars...)...); err != nil {
		return nil, err
	}
	p.took = time.Since(began)
	info, err := os.Stat(p.file)
	if err != nil {
		return nil, err
	}
	p.size = info.Size()
	return p, nil
}

// probes is the wanted set: one probe that times all chosen methods.
func (c *choice) probes() string {
	var text strings.Builder
	text.WriteString("version: 1\nhand-off: false\nprobes:\n  - name: start-up\n    level: time\n    methods:\n")
	for _, class := range c.classes {
		names := class.names
		if names == nil {
			names = []string{"*"}
		}
		for _, name := range names {
			fmt.Fprintf(&text, "      - %s.%s\n", strings.ReplaceAll(class.name, "/", "."), name)
		}
	}
	text.WriteString("      - '!**.<init>'\n      - '!**.<clinit>'\n")
	return text.String()
}

// carryOut runs a command; what it printed is told where it fails.
func carryOut(ctx context.Context, command string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, command, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(command), arguments[0], err, bytes.TrimSpace(out))
	}
	return nil
}
