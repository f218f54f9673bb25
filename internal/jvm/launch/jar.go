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

// KeepJar puts the agent's jar into a directory where it stays for programs that start at any time, by default this
// user's data directory. A cache may be cleared, and a JVM whose agent's jar is missing does not start. Each build has
// a name of its own. An existing jar is not changed, because JVMs have it open.
func KeepJar(directory string) (string, error) {
	if directory == "" {
		data, err := dataDirectory()
		if err != nil {
			return "", fmt.Errorf("the agent's jar cannot be stored: %w; name a directory with --agent-dir", err)
		}
		directory = filepath.Join(data, "sonde", "agent")
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	name := filepath.Join(directory, fmt.Sprintf("%s-%s.jar", AgentJarPrefix, agent.AgentBuild()))
	if err := keep(directory, name); err != nil {
		return "", fmt.Errorf("the agent's jar cannot be stored: %w; name another directory with --agent-dir", err)
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

// dataDirectory returns the directory for data of this user.
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

// mostLinks is the number of links that kernels follow on one path.
const mostLinks = 40

// CheckOwn fails if another user could change the file or directory at an absolute path, or make
// the path refer to something else, because JVMs of this user run the code there.
//
// Every directory and link on the path must belong to this user, to root, or to the owner of the root directory, who
// controls every path. Others must not be able to write to a directory, unless it is sticky and the next element is a
// directory, which they cannot rename or remove. A file or a link must not be in a sticky directory: if it were removed
// one day, others could take its name.
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
			return fmt.Errorf("other users could replace the code there: %s belongs to another user", at)
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
			return fmt.Errorf("other users could replace the code there: %s can be written by others (chmod go-w prevents this)", at)
		case len(rest) == 0:
			return nil
		}
		// at contains no links, so its parent is the element before.
		for len(rest) > 0 && rest[0] == ".." {
			at, rest = filepath.Dir(at), rest[1:]
		}
		if len(rest) > 0 {
			at, rest = filepath.Join(at, rest[0]), rest[1:]
		}
	}
}

// isOpen reports whether others could replace a file, or the next element of the path in a directory.
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

// ownerOf returns the number of a file's owner.
func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
