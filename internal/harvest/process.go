package harvest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sonde-jvm/sonde/internal/attach/jvmproc"
	"github.com/sonde-jvm/sonde/internal/pack"
)

// OfProcess reads what the agent of a pack in a JVM has measured, or has before the JVM
// ended. Where no pack is named it is the one that the agent was given.
func OfProcess(ctx context.Context, pid int, packPath string) (*Harvest, error) {
	jvm, err := jvmproc.Local.Inspect(pid)
	switch {
	case errors.Is(err, jvmproc.ErrNoProcess):
		return ofEnded(ctx, pid, packPath)
	case err != nil:
		return nil, err
	}
	return OfJVM(jvm, packPath)
}

// OfJVM is OfProcess of a JVM that runs.
func OfJVM(jvm *jvmproc.JVM, packPath string) (*Harvest, error) {
	if jvm.Pack == nil || jvm.Pack.Arena == "" {
		none := &NoArenaError{PID: jvm.PID, Lives: true}
		if jvm.Pack != nil {
			none.Problem = jvm.Pack.Problem
		}
		return nil, none
	}
	// The file is another's, who could have put anything in its place.
	file, err := jvmproc.Local.OpenInside(jvm.PID, jvm.Pack.Arena, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("the arena of process %d: %w", jvm.PID, err)
	}
	defer func() { _ = file.Close() }()
	h, err := read(file, jvm.Pack.Arena)
	if err != nil {
		return nil, err
	}
	h.runsIn(jvm)
	if packPath != "" {
		if err := h.use(packPath, packPath); err != nil {
			h.Close()
			return nil, err
		}
		return h, nil
	}
	if err := h.useInside(jvm); err != nil {
		var of *pack.FileError
		if errors.As(err, &of) {
			err = fmt.Errorf("%s: %w", jvm.Pack.Path, of.Kind)
		}
		h.Notes = append(h.Notes, fmt.Sprintf("probes have no names, as its pack cannot be read: %v", err))
	}
	return h, nil
}

// useInside reads the pack that a JVM was given, where the JVM has it.
func (h *Harvest) useInside(jvm *jvmproc.JVM) error {
	file, err := jvmproc.Local.OpenInside(jvm.PID, jvm.Pack.Path, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return h.useFile(file, jvm.Pack.Path)
}

// ofEnded reads what a JVM that has ended left: the newest, where processes had the
// number one after the other.
func ofEnded(ctx context.Context, pid int, packPath string) (*Harvest, error) {
	var newest *Harvest
	var failed error
	for _, name := range leftBy(pid) {
		h, err := Open(ctx, name, packPath)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		_, has, err := h.Account()
		isOther := !has || err != nil || h.Owner().Target != pid || newest != nil && !h.Owner().Opened.After(newest.Owner().Opened)
		if isOther {
			h.Close()
			continue
		}
		if newest != nil {
			newest.Close()
		}
		newest = h
	}
	if newest == nil {
		return nil, errors.Join(failed, &NoArenaError{PID: pid})
	}
	return newest, nil
}

// leftBy are the files that may be arenas of a process that has ended.
func leftBy(pid int) (names []string) {
	const place = "/tmp"
	number := strconv.Itoa(pid)
	if text, err := readNotice(filepath.Join(place, jvmproc.PackNoticeName(pid))); err == nil {
		if p, ok := jvmproc.ParsePackNotice(text); ok && p.Arena != "" {
			names = append(names, p.Arena)
		}
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return names
	}
	for _, entry := range entries {
		middle, isArena := strings.CutSuffix(entry.Name(), ".arena")
		middle, isOurs := strings.CutPrefix(middle, "sonde-"+number)
		full := filepath.Join(place, entry.Name())
		if isArena && isOurs && (middle == "" || middle[0] == '-') && entry.Type().IsRegular() && !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	return names
}

// readNotice reads the notice of a process that was killed: one that ends removes it.
func readNotice(name string) ([]byte, error) {
	const most = 16 << 10
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > most {
		return nil, errors.Join(err, os.ErrInvalid)
	}
	text := make([]byte, info.Size())
	n, err := file.ReadAt(text, 0)
	return text[:n], err
}
