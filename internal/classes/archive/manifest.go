package archive

import (
	"archive/zip"
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
)

// MainClass is the class a jar names as the one to start, "" where it names
// none or cannot be read.
func MainClass(jar string) string {
	file, err := os.Open(jar)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	index, err := ReadIndex(file)
	if err != nil {
		return ""
	}
	return index.Attribute("Main-Class")
}

const manifestName = "META-INF/MANIFEST.MF"

// isSignatureFile reports whether an entry belongs to the signature of its
// jar: META-INF/*.SF, its block *.RSA, *.DSA or *.EC, or META-INF/SIG-*.
func isSignatureFile(name string) bool {
	upper := strings.ToUpper(name)
	rest, ok := strings.CutPrefix(upper, "META-INF/")
	if !ok || strings.Contains(rest, "/") {
		return false
	}
	return strings.HasPrefix(rest, "SIG-") || slices.Contains([]string{".SF", ".RSA", ".DSA", ".EC"}, path.Ext(rest))
}

// signature returns a file that shows the jar is signed, "" where it is not.
// A signature is a .SF file with a block of the same name; either alone has no effect.
func signature(files []*zip.File) string {
	blocks := map[string]bool{}
	var signed []string
	for _, f := range files {
		if !isSignatureFile(f.Name) {
			continue
		}
		stem, ok := strings.CutSuffix(strings.ToUpper(f.Name), ".SF")
		if ok {
			signed = append(signed, f.Name)
			continue
		}
		if dot := strings.LastIndexByte(stem, '.'); dot >= 0 {
			blocks[stem[:dot]] = true
		}
	}
	for _, name := range signed {
		if blocks[strings.TrimSuffix(strings.ToUpper(name), ".SF")] {
			return name
		}
	}
	return ""
}

// stripManifest removes the digests of entries from a manifest, and sections
// that hold nothing else. All other bytes stay as they are.
func stripManifest(manifest []byte) []byte {
	sections := manifestSections(manifest)
	if len(sections) == 0 {
		return manifest
	}
	out := append([]byte(nil), sections[0]...) // the main section names no digests
	for _, section := range sections[1:] {
		kept, attributes := stripDigests(section)
		if attributes > 0 {
			out = append(out, kept...)
		}
	}
	return out
}

// manifestSections cuts a manifest after each empty line.
func manifestSections(manifest []byte) [][]byte {
	var sections [][]byte
	start := 0
	inSection := false
	for pos := 0; pos < len(manifest); {
		end := lineEnd(manifest, pos)
		blank := len(bytes.TrimRight(manifest[pos:end], "\r\n")) == 0
		if !blank && !inSection && pos > start {
			// Blank lines before a section belong to the one before.
			sections = append(sections, manifest[start:pos])
			start = pos
		}
		inSection = !blank
		pos = end
	}
	return append(sections, manifest[start:])
}

// stripDigests returns a section without its digests and the number of
// attributes left, the name of the section not counted.
func stripDigests(section []byte) (kept []byte, attributes int) {
	dropping := false
	for pos := 0; pos < len(section); {
		end := lineEnd(section, pos)
		line := section[pos:end]
		pos = end
		if line[0] == ' ' { // continues the line before
			if !dropping {
				kept = append(kept, line...)
			}
			continue
		}
		name, _, isAttribute := bytes.Cut(line, []byte(":"))
		upper := strings.ToUpper(string(name))
		dropping = isAttribute && (strings.HasSuffix(upper, "-DIGEST") || strings.Contains(upper, "-DIGEST-"))
		if dropping {
			continue
		}
		if isAttribute && upper != "NAME" {
			attributes++
		}
		kept = append(kept, line...)
	}
	return kept, attributes
}

// lineEnd is the position after the line at pos; a line ends in CR LF, LF or
// CR.
func lineEnd(text []byte, pos int) int {
	i := bytes.IndexAny(text[pos:], "\r\n")
	if i < 0 {
		return len(text)
	}
	end := pos + i + 1
	if text[end-1] == '\r' && end < len(text) && text[end] == '\n' {
		end++
	}
	return end
}
