// Package jdk knows versions of the JDK and the faults they have in redefining classes.
package jdk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Version is the value of the property java.version or java.runtime.version.
type Version struct {
	Feature, Interim, Update, Patch int
	// Early is set for builds made before the release, such as "21-ea" or "9-internal".
	Early bool

	text string
}

// A VersionError reports a text that is not a JDK version.
type VersionError struct{ Text string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("%q is not a JDK version such as 17.0.15 or 1.8.0_402", e.Text)
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
	v.Early = isEarly(rest, old)
	return v, nil
}

// Feature returns the feature release of a version, such as 17 or 8; 0 if the text is
// not a version.
func Feature(text string) int {
	v, _ := ParseVersion(text)
	return v.Feature
}

// isEarly reports whether the text after the numbers marks a build made before the
// release. Its first word decides, unless a build number comes first ("+9-LTS"), or the
// word is a build number of the old scheme ("-b06") or a vendor's mark ("-LTS").
func isEarly(rest string, old bool) bool {
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
		cmp.Compare(v.Update, w.Update), cmp.Compare(v.Patch, w.Patch), cmp.Compare(v.released(), w.released()))
}

func (v Version) released() int {
	if v.Early {
		return 0
	}
	return 1
}

// String returns the text that was parsed, or the numbers of a version made otherwise.
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

// Hooks reports whether hooks run in a JDK. The internal classes that they use changed with 9 and
// again with 11.
func Hooks(v Version) bool { return v.Feature == 8 || v.Feature >= 11 }

// A Bug is a fault of some JDKs in redefining classes.
type Bug struct {
	ID      string    // such as JDK-8240908
	Since   int       // the first feature release that has it
	FixedIn []Version // updates with the fix, oldest first; the last is the first feature release without the bug
	Loses   string    // the affected part of a class, to follow "loses"
	Who     string    // the affected classes
	Helped  bool      // giving the JVM the class's original bytes avoids it
}

// The known bugs. The tests of package original show each of them on the JDKs they run on.
// A release counts as faulty if the number of the update with the fix is unknown: using
// original bytes does no harm where they are not needed.
var (
	// ParameterNames was seen on 17.0.15, not on 25.0.3.
	ParameterNames = Bug{
		ID:      "JDK-8240908",
		Since:   8,
		FixedIn: []Version{{Feature: 17, Update: 20}, {Feature: 19}},
		Loses:   "the parameter names",
		Who:     "classes with MethodParameters: those compiled with javac -parameters, those of Scala, and many with constructors that the compiler generates",
		Helped:  true,
	}
	// ComponentCount was seen on 17.0.15 (ClassFormatError, nothing is redefined), not on
	// 25.0.3. Updates of 21 are unknown.
	ComponentCount = Bug{
		ID:      "JDK-8315575",
		Since:   14,
		FixedIn: []Version{{Feature: 23}},
		Loses:   "the validity of the Record attribute (the JVM then rejects the class: ClassFormatError)",
		Who:     "records whose components have annotations that do not last until run time",
		Helped:  true,
	}
	// ComponentTypes was seen on 17.0.15 and 25.0.3 (SIGSEGV). It is harmless as long as
	// constants keep their places. The update of 26 is inferred.
	ComponentTypes = Bug{
		ID:      "JDK-8376185",
		Since:   14,
		FixedIn: []Version{{Feature: 25, Update: 4}, {Feature: 26, Update: 2}, {Feature: 27}},
		Loses:   "the constants of fields and components, or crashes the JVM",
		Who:     "records with type annotations on components, when redefined with constants in other places",
		Helped:  true,
	}
	// LinkingRace was not reproduced, because it is a race. Updates of 25 are inferred,
	// others are unknown.
	LinkingRace = Bug{
		ID:      "JDK-8277444",
		Since:   8,
		FixedIn: []Version{{Feature: 25, Update: 2}, {Feature: 26}},
		Loses:   "operands of instructions",
		Who:     "classes that are being linked at the moment they are retransformed",
		Helped:  true,
	}
)

// Bugs returns the known faults of a JDK in redefining classes.
func Bugs(v Version) []Bug {
	all := []Bug{ParameterNames, ComponentCount, ComponentTypes, LinkingRace}
	return slices.DeleteFunc(all, func(b Bug) bool { return !b.In(v) })
}

// In reports whether a JDK has the bug.
func (b *Bug) In(v Version) bool {
	if v.Feature < b.Since {
		return false
	}
	for _, fix := range b.FixedIn {
		if v.Feature == fix.Feature {
			return v.Compare(fix) < 0
		}
	}
	// Feature releases between those with a fixed update never got the fix.
	return v.Feature < b.FixedIn[len(b.FixedIn)-1].Feature
}

// KeepsAll reports whether a class stays as it was if it is redefined with the bytes that
// the JDK itself provides. If not, the class file must be used.
func KeepsAll(v Version) bool { return !ParameterNames.In(v) }
