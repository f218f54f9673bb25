package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DiscardsAll reports whether the next redefinition of a class makes a JVM discard all its compiled
// code, whatever class is changed. HotSpot before JDK 21 records which code depends on a class only
// after the first redefinition, or from the start if an agent was loaded then. Agents of others that
// redefine classes are not recognized.
func (h Host) DiscardsAll(j *JVM) bool {
	isSonde := func(file string) bool { return strings.Contains(file, "/.sonde-") && strings.HasSuffix(file, ".jar") }
	return j.Kind == HotSpot && j.Inside != Standby && j.Pack == nil && !h.HasRecorder(j.PID) &&
		!slices.ContainsFunc(h.OpenFiles(j.PID), isSonde) && h.TracksDependencies(j) != Yes
}

// HasRecorder reports whether the flight recorder of a JVM was ever started, by its threads, which
// stay. Asking the JVM would start it.
func (h Host) HasRecorder(pid int) bool {
	names, _ := filepath.Glob(h.Path(pid, "task/*/comm")) // the pattern is well formed
	return slices.ContainsFunc(names, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.HasPrefix(string(text), "JFR ")
	})
}

// OpenFiles returns the paths of the open files of a process. A JVM keeps jars open, including those of
// agents loaded later.
func (h Host) OpenFiles(pid int) (files []string) {
	folder := h.Path(pid, "fd")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if file, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && strings.HasPrefix(file, "/") {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// TracksDependencies reports whether a JVM's library knows a flag that came with JDK 23 and was
// backported to updates of older releases.
func (h Host) TracksDependencies(j *JVM) Answer {
	file, err := h.OpenFile(j, j.Library, 4<<30)
	if err != nil {
		return Unknown
	}
	defer func() { _ = file.Close() }()
	const largest = 256 << 20
	switch found, err := contains(io.LimitReader(file, largest), "AlwaysRecordEvolDependencies"); {
	case err != nil:
		return Unknown
	case found:
		return Yes
	}
	return No
}

// contains searches a stream for a text.
func contains(r io.Reader, text string) (bool, error) {
	const piece = 1 << 20
	buffer := make([]byte, 0, piece+len(text))
	for {
		n, err := io.ReadFull(r, buffer[len(buffer):len(buffer)+piece])
		buffer = buffer[:len(buffer)+n]
		if bytes.Contains(buffer, []byte(text)) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		// The text may begin at the end of this piece.
		kept := copy(buffer[:len(text)], buffer[len(buffer)-len(text):])
		buffer = buffer[:kept]
	}
}
