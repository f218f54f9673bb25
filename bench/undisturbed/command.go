package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// An outcome is what a command says about the root.
type outcome struct {
	mean, low, high float64 // nanoseconds; low and high are 0 if no interval is stated
	from            time.Time
	took            time.Duration
	isTotal         bool // mean, low and high are those of all calls together: samples do not count calls
	disturbed       bool // the first line says so
	disturbance     cost.Disturbance
}

// nothing is the name of a command that does nothing: what its row shows is the bench's own error.
const nothing = "nothing"

// A command is a way to measure the root.
type command struct {
	name      string
	arguments func(s subject) []string
	read      func(out []byte) (outcome, error)
}

var commands = []command{
	{nothing, nil, nil},
	{"count", func(s subject) []string { return []string{"count", s.root, "--duration", length.String()} }, readCount},
	{"monitor", func(s subject) []string { return []string{"monitor", s.root, "--duration", length.String()} }, readMonitor},
	{"trace", func(s subject) []string {
		return []string{"trace", s.root, "--duration", length.String(), "--limit", "10000", "--levels", "3"}
	}, readTrace},
	{"auto", func(s subject) []string { return profileArguments(s, "auto") }, readProfile},
	{"exact", func(s subject) []string { return profileArguments(s, "exact") }, readProfile},
}

func profileArguments(s subject, timing string) []string {
	return append([]string{"profile", "--root", s.root, "--timing", timing, "--duration", length.String()}, s.into...)
}

// measure runs the command in a process of its own.
func (c command) measure(ctx context.Context, b *bench, pid int, s subject) (outcome, error) {
	if c.name == nothing {
		return outcome{from: time.Now(), took: *length}, process.Pause(ctx, *length)
	}
	arguments := c.arguments(s)
	arguments = slices.Insert(arguments, 1, strconv.Itoa(pid))
	arguments = append(arguments, "--json", "--no-service", "--no-cache", "--settle", settle.String())
	run := exec.CommandContext(ctx, b.sonde, arguments...)
	var out, messages bytes.Buffer
	run.Stdout, run.Stderr = &out, &messages
	err := run.Run()
	if *verbose {
		fmt.Fprintf(os.Stderr, "sonde %s\n%s", strings.Join(arguments, " "), messages.String())
	}
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(messages.Bytes()))
	}
	return c.read(out.Bytes())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// told takes in what a command says about itself.
func (o *outcome) told(disturbed string, d *cost.Disturbance) {
	o.disturbed = disturbed != ""
	if d != nil {
		o.disturbance = *d
	}
}

func readCount(out []byte) (o outcome, err error) {
	var d document.Count
	if err := json.Unmarshal(out, &d); err != nil {
		return o, err
	}
	var nanos, timed float64
	for _, m := range d.Methods {
		if m.TotalNanos != nil {
			nanos, timed = nanos+float64(*m.TotalNanos), timed+float64(m.Timed)
		}
	}
	o = outcome{mean: nanos / max(1, timed), from: d.Began, took: seconds(d.Seconds)}
	o.told(d.Disturbed, d.Disturbance)
	return o, nil
}

func readMonitor(out []byte) (o outcome, err error) {
	var d document.Monitor
	if err := json.Unmarshal(lastLine(out), &d); err != nil {
		return o, err
	}
	if d.Total.Mean == nil {
		return o, errors.New("no call was timed")
	}
	o = outcome{mean: *d.Total.Mean, from: d.At.Add(-seconds(d.Seconds)), took: seconds(d.Seconds)}
	o.told(d.Disturbed, d.Disturbance)
	return o, nil
}

func readTrace(out []byte) (o outcome, err error) {
	var took []float64
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var t document.Transaction
		if err := json.Unmarshal(line, &t); err != nil {
			return o, err
		}
		took = append(took, float64(t.Duration))
	}
	var end document.TraceEnd
	if err := json.Unmarshal(lines[len(lines)-1], &end); err != nil {
		return o, err
	}
	if len(took) < 2 {
		return o, fmt.Errorf("%d calls were traced: a mean of them says nothing", len(took))
	}
	mean, within := harness.Mean(took) // trace itself reports calls, no means
	o = outcome{mean: mean, low: mean - within, high: mean + within, from: end.Began, took: end.Took}
	o.told(end.Disturbed, end.Disturbance)
	return o, nil
}

func readProfile(out []byte) (o outcome, err error) {
	p, err := document.ReadProfile(bytes.NewReader(out))
	if err != nil {
		return o, err
	}
	mean := p.Merged.Roots().Mean()
	if p.Timing == cct.Stacks {
		mean = p.Merged.Roots().Total
	}
	o = outcome{isTotal: p.Timing == cct.Stacks, mean: mean.Nanos, low: mean.Low, high: mean.High, from: p.Began, took: p.Took}
	o.told(p.Disturbed, p.Disturbance)
	return o, nil
}

func lastLine(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return lines[len(lines)-1]
}
