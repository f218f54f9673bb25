package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

// An ExposedError says that other users could put other code at a path.
type ExposedError struct {
	Path string // where they could: a directory on the way, or the file itself
	Why  string // and what to do about it
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("others could put other code there: %s %s", e.Path, e.Why)
}

// KeepJar has the agent's jar where it stays, for programs that start at any time: in a
// directory, or where that is empty with this user's data. Not in a cache, which may be
// cleared: a JVM whose agent's jar is gone does not start. Each build has a name of its
// own, and a jar that is there is not touched: JVMs have it open.
func KeepJar(directory string) (string, error) {
	if directory == "" {
		data, err := dataDirectory()
		if err != nil {
			return "", fmt.Errorf("no place for the agent's jar: %w: name one with --agent-dir", err)
		}
		directory = filepath.Join(data, "sonde", "agent")
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	name := filepath.Join(directory, fmt.Sprintf("%s-%s.jar", AgentJarPrefix, agent.AgentBuild()))
	if err := keep(directory, name); err != nil {
		return "", fmt.Errorf("no place for the agent's jar: %w, or name another directory with --agent-dir", err)
	}
	return name, nil
}

func keep(directory, name string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	if err := CheckOwn(directory); err != nil {
		return err
	}
	have, err := os.ReadFile(name)
	if err == nil && bytes.Equal(have, agent.AgentJar()) {
		return CheckOwn(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// One that is there and is not what it should be is replaced by its name alone: who has
	// it open keeps it.
	err = archive.WriteFile(name, 0o644, func(file *os.File) error {
		_, err := file.Write(agent.AgentJar())
		return err
	})
	if err != nil {
		return err
	}
	return CheckOwn(name)
}

// dataDirectory is where programs keep what is this user's.
func dataDirectory() (string, error) {
	if stated := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(stated) {
		return stated, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share"), nil
}
