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

// place is where JVMs leave their notices and, where nothing else was said, arenas.
var place = "/tmp"

// ofEnded reads what a JVM that has ended left: the newest, where processes had the
// number one after the other. Anybody may put a file where it is looked for: so none of
// another user is taken, but by root, who is told whose it is and where there are several.
func ofEnded(ctx context.Context, pid int, packPath string) (*Harvest, error) {
	newest := make(map[uint32]*Harvest) // by user
	var failed error
	for _, one := range leftBy(pid) {
		h, err := open(ctx, one.name, packPath, os.O_RDONLY|syscall.O_NOFOLLOW, one.judge)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		former := newest[h.user]
		if !h.isOf(pid) || former != nil && !h.Owner().Opened.After(former.Owner().Opened) {
			h.Close()
			continue
		}
		if former != nil {
			former.Close()
		}
		newest[h.user] = h
	}
	switch len(newest) {
	case 0:
		return nil, errors.Join(failed, &NoArenaError{PID: pid})
	case 1:
		h := slices.Collect(maps.Values(newest))[0]
		h.tellUser()
		return h, nil
	}
	return nil, several(pid, newest)
}

// isOf tells whether the arena is of a pack in a process of a number, as far as it says
// so itself. One that was opened in the future was not.
func (h *Harvest) isOf(pid int) bool {
	_, has, err := h.Account()
	return has && err == nil && h.Owner().Target == pid && !h.Owner().Opened.After(time.Now())
}

// tellUser says whose an arena is that was found by a number, where it is another's.
func (h *Harvest) tellUser() {
	if int(h.user) != os.Geteuid() {
		h.Notes = append(h.Notes, fmt.Sprintf("the arena is of user %s, and tells what that user wrote", process.UserName(h.user)))
	}
}

// several closes what was found, and says whose it is.
func several(pid int, found map[uint32]*Harvest) error {
	e := &SeveralError{PID: pid}
	for _, user := range slices.Sorted(maps.Keys(found)) {
		e.Arenas = append(e.Arenas, fmt.Sprintf("%s of user %s", found[user].Arena, process.UserName(user)))
		found[user].Close()
	}
	return e
}

// A left is a file that may be the arena of a process that has ended.
type left struct {
	name  string
	judge process.Judge
}

// isMine judges files: for root anybody's will do.
func isMine(_ os.FileInfo, owner uint32) error {
	if self := os.Geteuid(); self != 0 && int(owner) != self {
		return process.ErrForeign
	}
	return nil
}

// leftBy are the files that may be arenas of a process that has ended.
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
		isTold := slices.ContainsFunc(all, func(one left) bool { return one.name == full })
		if isNamedFor(pid, entry.Name()) && !isTold && entry.Type().IsRegular() && isOwn(entry) {
			all = append(all, left{full, isMine})
		}
	}
	return all
}

// isOwn keeps files of other users from being told as failures: they are none.
func isOwn(entry os.DirEntry) bool {
	info, err := entry.Info()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && isMine(info, stat.Uid) == nil
}

// isNamedFor tells names such as sonde-4711.arena and sonde-4711-0123.arena.
func isNamedFor(pid int, name string) bool {
	middle, isArena := strings.CutSuffix(name, ".arena")
	middle, isOurs := strings.CutPrefix(middle, "sonde-"+strconv.Itoa(pid))
	return isArena && isOurs && (middle == "" || middle[0] == '-')
}

var errNoNotice = errors.New("not a notice of an arena")

// readNotice reads what a process that was killed said, and whose it was: one that ends
// removes its notice.
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
