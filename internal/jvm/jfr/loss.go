package jfr

import (
	"errors"
	"fmt"
)

// ErrNoRecording is returned for what does not begin as a flight recording does.
var ErrNoRecording = errors.New("not a flight recording: it does not begin with FLR")

// A VersionError is returned for recordings of a format older or newer than
// what OpenJDK 8u and all since 11 write.
type VersionError struct{ Major, Minor uint16 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("flight recording of version %d.%d: only version 2 is read, which OpenJDK 8u and JDK 11 or newer write",
		e.Major, e.Minor)
}

// A Defect is why something could not be read.
type Defect uint8

// The defects.
const (
	Truncated    Defect = iota // the file ends before its chunk does
	Unfinished                 // the JVM did not finish the chunk: it was killed, or still writes
	Corrupt                    // what is there contradicts itself
	NoMetadata                 // nothing tells how events are laid out
	Unresolved                 // an event names a stack or thread that the chunk does not hold
	LostByJVM                  // the JVM says that it had no room for events
	LostSamples                // the JVM says that it had no room for samples of processor time
	OtherVersion               // the chunk is of a version that is not read
)

var defectNames = [...]string{
	"truncated", "unfinished", "corrupt", "without metadata", "unresolved", "lost by the JVM", "samples lost by the JVM", "of another version",
}

func (d Defect) String() string {
	if int(d) < len(defectNames) {
		return defectNames[d]
	}
	return "unreadable"
}

// A Loss is something of a recording that was not read, in one line.
type Loss struct {
	Defect Defect
	File   string // base name, where known
	Offset int64  // in the file, where it begins
	Count  int64  // of bytes; for events and samples, how many of them
	Detail string
}

func (l Loss) Error() string {
	where := ""
	if l.File != "" {
		where = l.File + ": "
	}
	switch l.Defect {
	case LostByJVM, LostSamples, OtherVersion:
		return fmt.Sprintf("%s%s", where, l.Detail)
	case Unresolved:
		return fmt.Sprintf("%s%d events unresolved: %s", where, l.Count, l.Detail)
	}
	return fmt.Sprintf("%s%d bytes at %d %s: %s", where, l.Count, l.Offset, l.Defect, l.Detail)
}
