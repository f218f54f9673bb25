package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sonde-jvm/sonde/agent"
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
	// A jar with other content is replaced by a rename, so that a JVM that has it open keeps it.
	if err := replace(name, agent.AgentJar()); err != nil {
		return err
	}
	return CheckOwn(name)
}

// replace gives a file new content, all of it or none.
func replace(name string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
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

// mostLinks is what kernels follow on one path.
const mostLinks = 40

// CheckOwn fails if another user could change what an absolute path names, a file or a
// directory, or make the path name something else: JVMs of this user run what is there. An
// error of that kind is an *ExposedError.
//
// Every directory and link on the way must belong to this user, to root, or to the owner
// of the root directory, who controls every path. Others may not write to a directory,
// unless it is sticky and another directory is all that is used of it: then they cannot
// rename or remove what is not theirs. A file or a link must not lie in a sticky directory: if
// it were removed one day, others could take its name.
func CheckOwn(name string) error {
	top, err := os.Lstat("/")
	if err != nil {
		return err
	}
	trusted := []int{0, os.Getuid(), ownerOf(top)}
	at, rest, links := "/", elements(name), 0
	for {
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return err
		case !slices.Contains(trusted, ownerOf(info)):
			return &ExposedError{at, "is another user's"}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if links++; links > mostLinks {
				return &fs.PathError{Op: "open", Path: name, Err: errors.New("too many symbolic links")}
			}
			at, rest = filepath.Dir(at), append(elements(target), rest...)
			if filepath.IsAbs(target) {
				at = "/"
			}
		case isOpen(info, rest, at):
			return &ExposedError{at, "can be written by others, chmod go-w it"}
		case len(rest) == 0:
			return nil
		}
		// There are no links in at, so that its parent is the element before.
		for len(rest) > 0 && rest[0] == ".." {
			at, rest = filepath.Dir(at), rest[1:]
		}
		if len(rest) > 0 {
			at, rest = filepath.Join(at, rest[0]), rest[1:]
		}
	}
}

// isOpen tells whether others could exchange a file, or the rest of the path that a
// directory leads to.
func isOpen(info fs.FileInfo, rest []string, at string) bool {
	const othersWrite = 0o022
	if info.Mode().Perm()&othersWrite == 0 {
		return false
	}
	if !info.IsDir() || info.Mode()&fs.ModeSticky == 0 || len(rest) == 0 {
		return true
	}
	next, err := os.Lstat(filepath.Join(at, rest[0]))
	return err != nil || !next.IsDir()
}

func elements(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(element string) bool { return element == "" || element == "." })
}

// ownerOf is the number of the user who owns a file.
func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
