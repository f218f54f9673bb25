package process

import (
	"path"
	"strings"
)

// release is what a JDK's release file says of it.
type release struct {
	version, vendor, variant string
}

// readRelease looks for the release file of the JDK a library belongs to, at
// most as far up as JDK 8 has it from jre/lib/amd64/server.
func readRelease(read func(path string) ([]byte, error), libjvm string) release {
	const highest = 5
	directory := path.Dir(libjvm)
	for range highest {
		directory = path.Dir(directory)
		if text, err := read(path.Join(directory, "release")); err == nil {
			return parseRelease(string(text))
		}
	}
	return release{}
}

func parseRelease(text string) (r release) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"`)
		switch name {
		case "JAVA_VERSION":
			r.version = value
		case "IMPLEMENTOR":
			r.vendor = value
		case "JVM_VARIANT":
			r.variant = value
		}
	}
	return r
}
