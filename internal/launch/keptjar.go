package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/archive"
)

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
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("no place for the agent's jar: %w: name another with --agent-dir", err)
	}
	if err := checkOwner(directory); err != nil {
		return "", err
	}
	name := filepath.Join(directory, fmt.Sprintf("%s-%s.jar", AgentJarPrefix, agent.AgentBuild()))
	have, err := os.ReadFile(name)
	if err == nil && bytes.Equal(have, agent.AgentJar()) {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the agent's jar: %w: name another place with --agent-dir", err)
	}
	// One that is there and is not what it should be is replaced by its name alone: who has
	// it open keeps it.
	err = archive.WriteFile(name, 0o644, func(file *os.File) error {
		_, err := file.Write(agent.AgentJar())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("the agent's jar: %w: name another place with --agent-dir", err)
	}
	return name, nil
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

// checkOwner refuses a directory in which others could put another jar: JVMs of this user
// run what is in it.
func checkOwner(directory string) error {
	info, err := os.Stat(directory)
	if err != nil {
		return fmt.Errorf("no place for the agent's jar: %w: name another with --agent-dir", err)
	}
	const othersWrite = 0o022
	switch owner, known := ownerOf(info); {
	case known && owner != 0 && owner != os.Getuid():
		return fmt.Errorf("%s is another user's, who could put other code there: name a directory of your own with --agent-dir", directory)
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("others may write to %s, and so put other code there: chmod go-w it, or name another directory with --agent-dir", directory)
	}
	return nil
}
