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
	switch _, found, err := h.searchLibrary(j, "AlwaysRecordEvolDependencies", 0); {
	case err != nil:
		return Unknown
	case found:
		return Yes
	}
	return No
}

// versionInLibrary returns the version of the JDK that the library of a JVM was built for; empty if it is
// not found. The library contains a text such as "… for linux-amd64 JRE (1.8.0_472-b08), built on …".
func (h Host) versionInLibrary(j *JVM) string {
	const longest = 64
	text, _, err := h.searchLibrary(j, " JRE (", longest)
	if err != nil {
		return ""
	}
	return versionIn(text)
}

// versionIn returns the version before a closing bracket, without its build.
func versionIn(text string) string {
	version, _, isWhole := strings.Cut(text, ")")
	version, _, _ = strings.Cut(version, "+")
	if strings.HasPrefix(version, "1.") {
		version, _, _ = strings.Cut(version, "-")
	}
	if !isWhole || strings.Trim(version, "0123456789._-abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return version
}

// searchLibrary is search for the library of a JVM.
func (h Host) searchLibrary(j *JVM, text string, most int) (after string, found bool, err error) {
	const largest = 256 << 20
	file, err := h.OpenFile(j, j.Library, 4<<30)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = file.Close() }()
	return search(io.LimitReader(file, largest), text, most)
}

// search searches a stream for a text, and returns up to most bytes after it.
func search(r io.Reader, text string, most int) (after string, found bool, err error) {
	const piece = 1 << 20
	wanted := len(text) + most
	buffer := make([]byte, 0, piece+wanted)
	for {
		n, err := io.ReadFull(r, buffer[len(buffer):len(buffer)+piece])
		buffer = buffer[:len(buffer)+n]
		isEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if at := bytes.Index(buffer, []byte(text)); at >= 0 && (isEnd || at+wanted <= len(buffer)) {
			return string(buffer[at+len(text) : min(at+wanted, len(buffer))]), true, nil
		}
		switch {
		case isEnd:
			return "", false, nil
		case err != nil:
			return "", false, err
		}
		// It may begin at the end of this piece.
		kept := copy(buffer, buffer[len(buffer)-wanted:])
		buffer = buffer[:kept]
	}
}
