// Package jfluid drives JFluid, the engine of VisualVM, through its own library
// and without its windows, so that benchmarks can have it do the same job as
// Sonde. Nothing of it is in this repository: `.ci/setup visualvm` installs it.
package jfluid

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A Scheme is one of the engine's ways to put hooks in and to time.
type Scheme string

// The schemes. All but Sampled time every call.
const (
	Lazy    Scheme = "lazy"    // callees get hooks when their caller is first called
	Eager   Scheme = "eager"   // callees get hooks when their class is loaded
	Total   Scheme = "total"   // all methods of all classes do
	Sampled Scheme = "sampled" // lazy; every call is counted, one every 10 ms timed
)

// A Root is a method to begin with, named as Java does, with its descriptor.
type Root struct {
	Class, Method, Descriptor string
}

// A Request is what to profile.
type Request struct {
	PID      int
	Roots    []Root
	Into     string // classes that get hooks, such as "org.h2.**"; "" is all
	Scheme   Scheme
	Weaving  time.Duration // how long to wait until all hooks are in; 0 is DefaultWeaving
	Duration time.Duration // from then on
	// Stay is waited for from then on, beyond Duration, which bounds nothing then.
	// It is told when hooks had ceased to go in, by the monotonic clock; 0 if they
	// had not.
	Stay func(ctx context.Context, woven time.Duration) error
}

// DefaultWeaving is enough for programs of some hundred methods.
const DefaultWeaving = 20 * time.Second

// A Method is one with a hook.
type Method struct {
	Name        string // class.method
	Descriptor  string
	Calls       int64
	Self, Total time.Duration // calibrated by the engine, in steps of 1 µs
}

// A Result is what the engine found, and when it did what.
type Result struct {
	Methods []Method
	Hooks   int           // methods with a hook
	Rounds  int           // batches in which they went in
	HotSwap time.Duration // the engine's own account of what that took
	// Moments of the monotonic clock, which is that of System.nanoTime.
	Began     time.Duration // it entered the target
	Woven     time.Duration // hooks had ceased to go in; 0 if they never did in the time given
	Measuring time.Duration // it waited no longer for that
	Fetched   time.Duration // it asked for the results
	Removing  time.Duration // it began to take the hooks out
	Gone      time.Duration // it had left
}

// An Engine is an installed JFluid, calibrated for one JDK.
type Engine struct {
	jdk     jvmtest.JDK
	home    string // of VisualVM
	classes string // of our driver
	data    string // where the engine keeps its calibration
}

// Errors that say why there is no engine.
var (
	ErrMissing     = errors.New("VisualVM is not installed: run .ci/setup visualvm")
	ErrUnsupported = errors.New("VisualVM's engine does not know this JDK")
)

// homes are where Debian, and .ci/setup where Debian's would change other
// packages, put it.
var homes = []string{"/usr/share/visualvm/visualvm", ".tools/visualvm/usr/share/visualvm/visualvm"}

// Available prepares the engine for a JDK: it builds the driver below build/,
// beside it calibrates the engine if that has not been done, and needs the top of
// the repository as the working directory.
func Available(ctx context.Context, jdk jvmtest.JDK) (*Engine, error) {
	e := &Engine{jdk: jdk}
	for _, home := range homes {
		if _, err := os.Stat(filepath.Join(home, library)); err == nil {
			e.home = home
			break
		}
	}
	if e.home == "" {
		return nil, ErrMissing
	}
	var err error
	if e.classes, err = filepath.Abs(filepath.Join("build", "jfluid", jdk.Version)); err != nil {
		return nil, err
	}
	e.data = filepath.Join(e.classes, "calibration")
	if err := e.compile(ctx); err != nil {
		return nil, err
	}
	if err := e.calibrate(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Options are what a JVM to be profiled should be started with, so that the engine
// leaves nothing in the user's home folder.
func (e *Engine) Options() []string { return []string{"-Dnbprofiler.home=" + e.data} }

// Profile has the engine do one job. A JVM should serve for one only: what the
// engine leaves behind may fail the next.
func (e *Engine) Profile(ctx context.Context, request Request) (*Result, error) {
	if request.Weaving == 0 {
		request.Weaving = DefaultWeaving
	}
	out, err := e.drive(ctx, request.stay, request.arguments()...)
	if err != nil {
		return nil, fmt.Errorf("JFluid, %s: %w", request.Scheme, err)
	}
	return parse(out)
}
