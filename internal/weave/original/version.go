package original

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a JDK's version, as the property java.version or java.runtime.version
// tells it.
type Version struct {
	Feature, Interim, Update, Patch int
	// Early is set for builds made before the release was: "21-ea", "9-internal".
	Early bool

	text string
}

// A VersionError says that a text is no JDK version.
type VersionError struct{ Text string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("%q is no JDK version such as 17.0.15 or 1.8.0_402", e.Text)
}

// ParseVersion reads versions of both schemes:
//
//	17.0.15   25.0.3+9-LTS   21   26-ea+12   11.0.20.1
//	1.8.0_402   1.8.0_402-b06   1.7.0
func ParseVersion(text string) (Version, error) {
	v := Version{text: strings.TrimSpace(text)}
	end := strings.IndexFunc(v.text, func(r rune) bool { return r != '.' && r != '_' && (r < '0' || r > '9') })
	numbers, rest := v.text, ""
	if end >= 0 {
		numbers, rest = v.text[:end], v.text[end:]
	}
	numbers, old := strings.CutPrefix(numbers, "1.")
	update, updated := "", false
	if old {
		numbers, update, updated = strings.Cut(numbers, "_")
	}
	parts := strings.Split(numbers, ".")
	fields := [...]*int{&v.Feature, &v.Interim, &v.Update, &v.Patch}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return Version{}, &VersionError{text}
		}
		if i < len(fields) { // vendors append numbers of their own: 11.0.9.1.2
			*fields[i] = n
		}
	}
	if updated {
		n, err := strconv.Atoi(update)
		if err != nil {
			return Version{}, &VersionError{text}
		}
		v.Update = n
	}
	if v.Feature == 0 || rest != "" && rest[0] != '-' && rest[0] != '+' {
		return Version{}, &VersionError{text}
	}
	v.Early = early(rest, old)
	return v, nil
}

// early tells from what follows the numbers whether a build came before the release.
// Its first word does, unless a build number comes first ("+9-LTS"), or it is the
// build number of the old scheme ("-b06") or a vendor's mark ("-LTS").
func early(rest string, old bool) bool {
	word, ok := strings.CutPrefix(rest, "-")
	if !ok {
		return false
	}
	word, _, _ = strings.Cut(word, "+")
	word, _, _ = strings.Cut(word, "-")
	switch word {
	case "ea", "beta", "rc", "internal", "dev", "adhoc", "snapshot":
		return true
	}
	return old && strings.HasPrefix(word, "ea")
}

// Compare orders versions; an early build comes before its release.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Feature, w.Feature), cmp.Compare(v.Interim, w.Interim),
		cmp.Compare(v.Update, w.Update), cmp.Compare(v.Patch, w.Patch), -compareBool(v.Early, w.Early))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// String is the version as it was given, or as it would be written.
func (v Version) String() string {
	if v.text != "" {
		return v.text
	}
	numbers := []int{v.Feature, v.Interim, v.Update, v.Patch}
	for len(numbers) > 1 && numbers[len(numbers)-1] == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ".")
}
