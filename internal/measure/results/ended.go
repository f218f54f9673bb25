package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// place is where JVMs leave their notices and, by default, arenas.
var place = "/tmp"

// ofEnded reads the arena that a JVM left when it ended: the newest, if several processes
// had its PID. Anybody may put a file there, so only root reads files of other users, with
// a note that names the user, and an error if there are several.
func ofEnded(ctx context.Context, pid int, packPath string) (*Reader, error) {
	newest := make(map[uint32]*Reader) // by user
	var failed error
	for _, one := range leftBy(pid) {
		r, err := open(ctx, one.name, packPath, os.O_RDONLY|syscall.O_NOFOLLOW, one.judge)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		former := newest[r.user]
		if !r.isOf(pid) || former != nil && !r.Owner.Opened.After(former.Owner.Opened) {
			r.Close()
			continue
		}
		if former != nil {
			former.Close()
		}
		newest[r.user] = r
	}
	switch len(newest) {
	case 0:
		return nil, errors.Join(failed, &NoArenaError{PID: pid})
	case 1:
		r := slices.Collect(maps.Values(newest))[0]
		if int(r.user) != os.Geteuid() {
			r.Notes = append(r.Notes, fmt.Sprintf("the arena belongs to user %s, who could have changed the figures", process.UserName(r.user)))
		}
		return r, nil
	}
	return nil, several(pid, newest)
}

// isOf reports whether the arena says that it belongs to a pack in a process with a PID. An
// arena that was opened in the future does not.
func (r *Reader) isOf(pid int) bool {
	_, has, err := r.Account()
	return has && err == nil && r.Owner.Target == pid && !r.Owner.Opened.After(time.Now())
}

// several closes the arenas that were found, and returns an error that names their users.
func several(pid int, found map[uint32]*Reader) error {
	e := &SeveralError{PID: pid}
	for _, user := range slices.Sorted(maps.Keys(found)) {
		e.Arenas = append(e.Arenas, fmt.Sprintf("%s of user %s", found[user].Path, process.UserName(user)))
		found[user].Close()
	}
	return e
}

// A left is a file that may be the arena of a process that has ended.
type left struct {
	name  string
	judge process.Judge
}

// isMine accepts files of this user; root accepts all files.
func isMine(_ os.FileInfo, owner uint32) error {
	if self := os.Geteuid(); self != 0 && int(owner) != self {
		return process.ErrForeign
	}
	return nil
}

// leftBy returns the files that may be arenas of a process that has ended.
func leftBy(pid int) (all []left) {
	if arena, user, err := readNotice(filepath.Join(place, process.PackNoticeName(pid))); err == nil {
		all = append(all, left{arena, func(_ os.FileInfo, owner uint32) error {
			if owner != user {
				return process.ErrForeign
			}
			return nil
		}})
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return all
	}
	for _, entry := range entries {
		full := filepath.Join(place, entry.Name())
		isNoticed := slices.ContainsFunc(all, func(one left) bool { return one.name == full })
		if isNamedFor(pid, entry.Name()) && !isNoticed && entry.Type().IsRegular() && isOwn(entry) {
			all = append(all, left{full, isMine})
		}
	}
	return all
}

// isOwn reports whether a file belongs to this user, so that files of others are not
// reported as failures.
func isOwn(entry os.DirEntry) bool {
	info, err := entry.Info()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && isMine(info, stat.Uid) == nil
}

// isNamedFor reports whether a name is such as sonde-4711.arena or sonde-4711-0123.arena.
func isNamedFor(pid int, name string) bool {
	middle, isArena := strings.CutSuffix(name, ".arena")
	middle, isOurs := strings.CutPrefix(middle, "sonde-"+strconv.Itoa(pid))
	return isArena && isOurs && (middle == "" || middle[0] == '-')
}

var errNoNotice = errors.New("the file in which the agent names its arena is not valid")

// readNotice reads the notice of a process that was killed, and returns its arena and user.
// A process that ends normally removes its notice.
func readNotice(name string) (arena string, user uint32, err error) {
	const most = 16 << 10
	file, err := process.OpenPlain(name, os.O_RDONLY|syscall.O_NOFOLLOW, func(info os.FileInfo, owner uint32) error {
		user = owner
		if info.Mode().Perm()&0o077 != 0 || info.Size() > most {
			return errNoNotice
		}
		return isMine(info, owner)
	})
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return "", 0, err
	}
	p, ok := process.ParsePackNotice(text)
	if !ok || !filepath.IsAbs(p.Arena) {
		return "", 0, errNoNotice
	}
	return p.Arena, user, nil
}
