package archive

import (
	"archive/zip"
	"strings"
)

// MainClass is the class a jar names as the one to start, "" where it names
// none or cannot be read.
func MainClass(jar string) string {
	r, err := zip.OpenReader(jar)
	if err != nil {
		return ""
	}
	defer func() { _ = r.Close() }() // only read
	f := lookup(&r.Reader, manifestName)
	if f == nil {
		return ""
	}
	data, err := newUnpacker(int64(f.CompressedSize64)).read(f, f.Name, maxManifest)
	if err != nil {
		return ""
	}
	main := manifestSections(data)[0]
	// A line that begins with a blank continues the one before.
	text := strings.NewReplacer("\r\n ", "", "\n ", "", "\r ", "").Replace(string(main))
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Main-Class") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
