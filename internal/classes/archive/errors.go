package archive

import "fmt"

// SignedError says that a jar to be changed is signed. A changed class fails
// verification against its signature, and the JVM refuses to load it.
type SignedError struct {
	Jar       string
	Signature string // one of its signature files
}

func (e *SignedError) Error() string {
	return fmt.Sprintf("%s is signed (%s), and changed classes would fail its verification: use --strip-signatures to write it unsigned", e.Jar, e.Signature)
}

// LimitError says that unpacking was stopped.
type LimitError struct {
	Path   string
	Detail string
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }

// UnsafePathError names an entry that would lie outside its archive.
type UnsafePathError struct {
	Jar, Entry string
}

func (e *UnsafePathError) Error() string {
	return fmt.Sprintf("%s: entry %q points outside the archive: not touched; the jar is damaged or hostile", e.Jar, e.Entry)
}

// OutputError says why the output cannot go where it was asked to.
type OutputError struct {
	Path   string
	Detail string
}

func (e *OutputError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }

// KindError says that a file is nothing this package reads.
type KindError struct {
	Path   string
	Detail string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s: %s", e.Path, e.Detail)
}
