package jvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Isolated runs tests that start the program sonde, so that it uses neither the service, the
// results, the data nor the cache of the user who runs them, and does not depend on what others
// left there. sonde is the name of the program. The service that tests have started ends with
// them. It returns the exit code of the tests; not 0 if a service is left.
func Isolated(sonde string, run func() int) int {
	// The path of a socket must be short, which that of another temporary directory may not be.
	data, err := os.MkdirTemp("/tmp", "sonde-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(data) }()
	for name, value := range isolation(data) {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := run()
	_ = exec.Command(sonde, "serve", "--stop").Run() // fails if no test has needed it
	sockets, err := filepath.Glob(filepath.Join(data, "sonde", "*.sock"))
	if err != nil || len(sockets) > 0 {
		fmt.Fprintf(os.Stderr, "tests have left services: %v, %v\n", sockets, err)
		return max(code, 1)
	}
	return code
}

func isolation(data string) map[string]string {
	return map[string]string{"XDG_DATA_HOME": data, "XDG_STATE_HOME": data, "XDG_RUNTIME_DIR": data, "SONDE_CACHE": "off", "SONDE_SETTLE": "off"}
}

// Isolation returns the names of the variables that Isolated sets, for programs that do not
// inherit the environment.
func Isolation() (names []string) {
	for name := range isolation("") {
		names = append(names, name)
	}
	return names
}

// WithSonde is Isolated with the program of this repository, whose name it puts into path.
func WithSonde(path *string, run func() int) int {
	folder, err := os.MkdirTemp("", "sonde-built-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if *path, err = BuildSonde(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return Isolated(*path, run)
}

// BuildSonde returns the name of the program: of the one that make test has built, or of one that it builds in a folder.
func BuildSonde(folder string) (path string, err error) {
	if path = os.Getenv("SONDE_BINARY"); path != "" {
		return path, nil
	}
	path = filepath.Join(folder, "sonde")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", path, "github.com/sonde-jvm/sonde/cmd/sonde").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building sonde: %w\n%s", err, out)
	}
	return path, nil
}
