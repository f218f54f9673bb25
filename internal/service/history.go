package service

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// limits bound what is kept of looks that have ended. The oldest go first.
type limits struct {
	looks int
	bytes int64
	age   time.Duration
}

var usualLimits = limits{looks: 1000, bytes: 256 << 20, age: 7 * 24 * time.Hour}

// A history keeps the results of looks in a directory of the user. Each look has a directory
// named by its number: look.json describes it, result.SUFFIX is its result in one format.
type history struct {
	dir    string
	limits limits
	now    func() time.Time

	lock sync.Mutex
	kept map[int]*keptLook // looks that have ended, as they were read; what is kept of them does not change
}

// A keptLook is a look that has ended.
type keptLook struct {
	about   Description
	changed time.Time // its directory, when it was read: other services may remove it, and use its number again
	size    int64     // in bytes; 0 until it is asked for
}

const (
	aboutFile    = "look.json"
	resultPrefix = "result."
)

// openHistory opens the history in a directory, which it makes.
func openHistory(dir string) (*history, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &history{dir: dir, limits: usualLimits, now: time.Now}, nil
}

// begin makes room for a look and returns its number. The lock on its directory shows other
// services that it is running.
func (h *history) begin() (number int, unlock func(), err error) {
	number, err = h.makeRoom()
	if err != nil {
		return 0, nil, err
	}
	unlock, err = tryLockAlone(h.path(number))
	return number, unlock, err
}

// discard removes a look that has not begun.
func (h *history) discard(number int) { _ = os.RemoveAll(h.path(number)) }

func (h *history) makeRoom() (int, error) {
	numbers, err := h.numbers()
	if err != nil {
		return 0, err
	}
	number := 1
	if len(numbers) > 0 {
		number = numbers[len(numbers)-1] + 1
	}
	for { // another service may have taken it
		err := os.Mkdir(h.path(number), 0o700)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return number, err
		}
		number++
	}
}

func (h *history) path(number int, more ...string) string {
	return filepath.Join(append([]string{h.dir, strconv.Itoa(number)}, more...)...)
}

// numbers returns the numbers of all looks, in order.
func (h *history) numbers() (numbers []int, err error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil && number > 0 {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// describe writes what is known of a look.
func (h *history) describe(about Description) error {
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	name := h.path(about.Number, aboutFile)
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// finish records the end of a look, and returns the formats of its result.
func (h *history) finish(about Description) (formats []string) {
	formats = h.formats(about.Number)
	about.Formats = formats
	_ = h.describe(about) // a full disk loses it
	h.prune()
	return formats
}

func (h *history) formats(number int) (formats []string) {
	entries, err := os.ReadDir(h.path(number))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if format, is := strings.CutPrefix(entry.Name(), resultPrefix); is {
			formats = append(formats, format)
		}
	}
	return formats
}

// look returns a look that has ended, or was lost.
func (h *history) look(number int) (about Description, err error) {
	text, err := os.ReadFile(h.path(number, aboutFile))
	if err != nil {
		return about, &NoLookError{number}
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return about, fmt.Errorf("%s: %w", h.path(number, aboutFile), err)
	}
	if about.State == Running && !h.isRunning(number) {
		about.State, about.Error = Lost, "its service was killed; the agent has removed its hooks by itself"
	}
	return about, nil
}

// isRunning reports whether a service has locked the directory of a look. It locks it shared,
// so that several can ask at the same time.
func (h *history) isRunning(number int) bool {
	unlock, err := tryLockShared(h.path(number))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	unlock()
	return false
}

// A NoLookError names a look that there is not, or not any more.
type NoLookError struct{ Number int }

func (e *NoLookError) Error() string {
	return fmt.Sprintf("there is no look %d: sonde looks lists them", e.Number)
}

// all returns what is kept, the newest first. The description of a look that has ended is read once.
func (h *history) all() (all []Description) {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return nil
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	kept := make(map[int]*keptLook)
	for _, entry := range entries {
		number, err := strconv.Atoi(entry.Name())
		info, gone := entry.Info()
		if err != nil || number <= 0 || gone != nil {
			continue
		}
		if known := h.kept[number]; known != nil && known.changed.Equal(info.ModTime()) {
			kept[number] = known
			all = append(all, known.about)
			continue
		}
		about, err := h.look(number)
		if err != nil {
			continue
		}
		all = append(all, about)
		if about.State != Running {
			kept[number] = &keptLook{about: about, changed: info.ModTime()}
		}
	}
	h.kept = kept
	slices.SortFunc(all, func(a, b Description) int { return b.Number - a.Number })
	return all
}

// result returns the name of the file with the result in a format.
func (h *history) result(number int, format string) (string, error) {
	about, err := h.look(number)
	if err != nil {
		return "", err
	}
	formats := h.formats(number)
	switch {
	case slices.Contains(formats, format):
		return h.path(number, resultPrefix+format), nil
	case len(formats) == 0:
		return "", fmt.Errorf("look %d has no result: %s", number, cmp.Or(about.Error, "it failed"))
	}
	return "", fmt.Errorf("look %d has no result in the format %q: it has %s", number, format, strings.Join(formats, ", "))
}

// prune removes the oldest looks that have ended until all limits are met. The newest one
// stays however large it is.
func (h *history) prune() {
	h.pruneUnknown()
	total, ended := int64(0), 0
	for i, about := range h.all() {
		total += h.size(about.Number)
		if about.State == Running {
			continue
		}
		ended++
		last := about.Began
		if about.Ended != nil {
			last = *about.Ended
		}
		if i >= h.limits.looks || total > h.limits.bytes && ended > 1 || h.now().Sub(last) > h.limits.age {
			_ = os.RemoveAll(h.path(about.Number))
		}
	}
}

// pruneUnknown removes old directories without a description that can be read: their service
// was killed when it had just made them, or the disk was full.
func (h *history) pruneUnknown() {
	numbers, err := h.numbers()
	if err != nil {
		return
	}
	for _, number := range numbers {
		info, err := os.Stat(h.path(number))
		if err != nil || h.now().Sub(info.ModTime()) <= h.limits.age {
			continue // a directory that another service has just made must not be locked here
		}
		if _, err := h.look(number); err != nil && !h.isRunning(number) {
			_ = os.RemoveAll(h.path(number))
		}
	}
}

// size returns the bytes that are kept of a look.
func (h *history) size(number int) (size int64) {
	h.lock.Lock()
	defer h.lock.Unlock()
	known := h.kept[number]
	if known != nil && known.size > 0 {
		return known.size
	}
	entries, err := os.ReadDir(h.path(number))
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	if known != nil {
		known.size = size
	}
	return size
}

// Keep writes the result of a look in one format. write gets the name of the file.
func (l *Look) Keep(format string, write func(path string) error) error {
	return write(l.history.path(l.number, resultPrefix+format))
}
