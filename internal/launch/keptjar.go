package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sonde-jvm/sonde/agent"
)

// KeepJar has the agent's jar where it stays, for programs that start at any time: in a
// directory, or where that is empty in this user's cache. Each build has a name of its
// own, and a jar that is there is not touched: JVMs have it open.
func KeepJar(directory string) (string, error) {
	if directory == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for the agent's jar: %w: name one with --agent-dir", err)
		}
		directory = filepath.Join(cache, "sonde", "agent")
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("no place for the agent's jar: %w: name another with --agent-dir", err)
	}
	name := filepath.Join(directory, fmt.Sprintf("%s-%s.jar", AgentJarPrefix, agent.AgentBuild()))
	have, err := os.ReadFile(name)
	if err == nil && bytes.Equal(have, agent.AgentJar()) {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the agent's jar: %w: name another place with --agent-dir", err)
	}
	return name, writeWhole(name, agent.AgentJar())
}

// writeWhole makes a file appear with all its content. One that was there, and is not what
// it should be, is replaced by its name alone: who has it open keeps it.
func writeWhole(name string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return fmt.Errorf("the agent's jar: %w: name another place with --agent-dir", err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the error that is told is why
		return fmt.Errorf("the agent's jar: %w: name another place with --agent-dir", err)
	}
	return nil
}
