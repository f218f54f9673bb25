// Package harness holds what all benchmarks share: it starts Java programs, alternates
// variants, summarizes repeated measurements, and reports them as tables with bars.
//
// A benchmark defines its flags and calls Main. Its report goes to standard output;
// with -write it also replaces docs/measurements/NAME.md, which states when, where, at
// which commit and by which command it was measured. Benchmarks run from the top of
// the repository.
package harness

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
)

// The flags of all benchmarks.
var (
	major = flag.Int("jdk", 0, "only this major version")
	write = flag.Bool("write", false, "also write the report to docs/measurements")
)

// Main is the main function of the benchmark in bench/NAME, until Ctrl-C. The exit code
// is 2 where something could not be measured and 1 where a bar is missed.
func Main(name string, run func(ctx context.Context, r *Report) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &Report{name: name, loadBefore: Load()}
	err := run(ctx, r)
	r.print(os.Stdout)
	if err == nil && *write {
		err = r.write()
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", name, err)
		os.Exit(2)
	case !r.allMet():
		os.Exit(1)
	}
}

// EachJDK measures on each supported JDK of the machine, or on the one that -jdk names.
func EachJDK(measure func(jdk jvmtest.JDK) error) error {
	jdks := slices.DeleteFunc(slices.Clone(jvmtest.Installed()), func(jdk jvmtest.JDK) bool {
		return *major != 0 && jdk.Major != *major || !slices.Contains(jvmtest.Supported, jdk.Major)
	})
	if len(jdks) == 0 {
		return errors.New("no such JDK found: install one below /usr/lib/jvm or name its home in SONDE_JDKS")
	}
	for _, jdk := range jdks {
		if err := measure(jdk); err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
	}
	return nil
}

// A Source is what Compile compiles.
type Source struct {
	Files     []string          // patterns of Java files, from the top of the repository
	Generated map[string]string // further Java files, by name
	Classpath string
	Flags     []string // of javac
}

// Compile compiles Java sources into a new folder, which the caller removes.
func Compile(jdk jvmtest.JDK, s Source) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "sonde-bench-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	return folder, CompileInto(jdk, folder, s)
}

// CompileInto compiles Java sources into a folder.
func CompileInto(jdk jvmtest.JDK, folder string, s Source) error {
	arguments := append([]string{"-nowarn", "-d", folder}, s.Flags...)
	if s.Classpath != "" {
		arguments = append(arguments, "-cp", s.Classpath)
	}
	for _, pattern := range s.Files {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no Java sources %s: run from the top of the repository", pattern)
		}
		arguments = append(arguments, files...)
	}
	for name, text := range s.Generated {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		arguments = append(arguments, file)
	}
	if out, err := exec.Command(jdk.Tool("javac"), arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac (what is missing .ci/setup installs): %w\n%s", err, out)
	}
	return nil
}

// BuildSonde builds the program sonde in a folder, and returns its path.
func BuildSonde(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "sonde")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/sonde").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building sonde: %w\n%s", err, out)
	}
	return path, nil
}

// WithSonde builds the program sonde in a folder that is removed at the end.
func WithSonde(ctx context.Context, use func(folder, sonde string) error) error {
	folder, err := os.MkdirTemp("", "sonde-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	sonde, err := BuildSonde(ctx, folder)
	if err != nil {
		return err
	}
	return use(folder, sonde)
}

// WriteJar writes a jar with a manifest and the files below a folder.
func WriteJar(path, manifest, folder string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	jar := zip.NewWriter(file)
	entry, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(entry, manifest); err != nil {
		return err
	}
	if err := jar.AddFS(os.DirFS(folder)); err != nil {
		return err
	}
	return errors.Join(jar.Close(), file.Close())
}

// Generate executes the template in a file.
func Generate(file string, data any) (string, error) {
	parsed, err := template.ParseFiles(file)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, data)
	return text.String(), err
}

// InSession opens a session in a process for as long as a function runs.
func InSession(ctx context.Context, pid int, during func(s *session.Look) error) error {
	return InLooks(ctx, pid, 1, func(looks []*session.Look) error { return during(looks[0]) })
}

// InLooks begins several looks at a JVM, calls during, and ends them.
func InLooks(ctx context.Context, pid, number int, during func(looks []*session.Look) error) (err error) {
	var shared session.Sessions
	var looks []*session.Look
	defer func() {
		for _, l := range looks {
			_, closing := l.Close(context.WithoutCancel(ctx))
			err = errors.Join(err, closing, l.Release())
		}
	}()
	for range number {
		l, err := session.Open(ctx, pid, session.Settings{Command: "bench", In: &shared})
		if err != nil {
			return err
		}
		looks = append(looks, l)
	}
	return during(looks)
}

// Load returns the average load of the machine over the last minute.
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(data), " ")
	return load
}

// Threads returns the folders in /proc of the threads of a process whose names, as the
// kernel has them, are wanted.
func Threads(pid int, isWanted func(name string) bool) (folders []string) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is well formed
	for _, folder := range all {
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err == nil && isWanted(string(bytes.TrimSpace(name))) { // else it has ended
			folders = append(folders, folder)
		}
	}
	return folders
}
