// Package machine tells what there is to measure on, and how busy it is.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Main is the main function of a benchmark, until Ctrl-C: it exits with 2 where that fails
// and with 1 where a bar is not met.
func Main(name string, run func(ctx context.Context) (met bool, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	met, err := run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// A Report is what a benchmark found on one JDK.
type Report interface {
	Print(w io.Writer)
	AllMet() bool // its bars
}

// Compare measures on each JDK, of one major version if that is not 0, and prints what
// it finds: each as it comes, or all as JSON.
func Compare[R Report](major int, asJSON bool, measure func(jdk jvmtest.JDK) (R, error)) (met bool, err error) {
	jdks, err := JDKs(major)
	if err != nil {
		return false, err
	}
	met = true
	var reports []R
	for _, jdk := range jdks {
		r, err := measure(jdk)
		if err != nil {
			return false, fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		met = met && r.AllMet()
		reports = append(reports, r)
		if !asJSON {
			r.Print(os.Stdout)
		}
	}
	if asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return met, encoder.Encode(reports)
	}
	return met, nil
}

// JDKs are those installed that Sonde supports; of one major version, if that is
// not 0.
func JDKs(major int) ([]jvmtest.JDK, error) {
	const remedy = "install one below /usr/lib/jvm or name its home in SONDE_JDKS"
	jdks := slices.DeleteFunc(slices.Clone(jvmtest.Installed()), func(jdk jvmtest.JDK) bool {
		return major != 0 && jdk.Major != major || !slices.Contains(jvmtest.Supported, jdk.Major)
	})
	switch {
	case len(jdks) > 0:
		return jdks, nil
	case major != 0:
		return nil, fmt.Errorf("no JDK %d found: %s", major, remedy)
	}
	return nil, errors.New("no JDK found: " + remedy)
}

// Load is what the machine was asked to do, over the last minute.
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return string(data[:min(len(data), len("0.00"))])
}
