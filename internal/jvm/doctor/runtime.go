package doctor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// lookAtRuntime reads what the JVM's files say of it: which modules there are,
// and whether the library knows a flag that came with JDK 23 and was taken back
// to updates of older ones.
func (h host) lookAtRuntime(f *Facts, library string) {
	const highest = 5 // JDK 8 has its library in jre/lib/amd64/server
	directory := path.Dir(library)
	for range highest {
		directory = path.Dir(directory)
		if file, err := h.openPlain(f.JVM.PID, path.Join(directory, "release")); err == nil {
			const most = 1 << 20
			text, _ := io.ReadAll(io.LimitReader(file, most)) // what could be read
			_ = file.Close()
			f.Modules = modulesOf(string(text))
			break
		}
	}
	file, err := h.openPlain(f.JVM.PID, library)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	const largest = 256 << 20
	switch there, err := contains(io.LimitReader(file, largest), "AlwaysRecordEvolDependencies"); {
	case err != nil:
	case there:
		f.TracksDependencies = process.Yes
	default:
		f.TracksDependencies = process.No
	}
}

// openPlain opens a plain file the JVM has; nothing else may make us wait.
func (h host) openPlain(pid int, name string) (*os.File, error) {
	file, err := h.OpenInside(pid, name, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, errors.New(name + ": not a plain file")
	}
	return file, nil
}

// modulesOf finds the modules in the text of a release file.
func modulesOf(text string) []string {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "MODULES="); is {
			return strings.Fields(strings.Trim(value, `"`))
		}
	}
	return nil
}

// contains looks for a text in a stream, piece by piece.
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
		// The end may be the text's beginning.
		kept := copy(buffer[:len(text)], buffer[len(buffer)-len(text):])
		buffer = buffer[:kept]
	}
}
