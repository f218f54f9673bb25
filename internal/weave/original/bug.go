package original

import "slices"

// A Bug is a fault of JDKs in how they redefine classes.
type Bug struct {
	ID       string    // such as JDK-8240908
	Since    int       // the first feature release that has it
	FixedIn  []Version // updates with the repair, oldest first; the last is the first feature release without it
	Loses    string    // what of a class is at stake, to follow "loses" or a class's name
	Who      string    // which classes are concerned
	Helped   bool      // giving the JVM the class's true bytes avoids it
	HowKnown string    // what was run, and what is only told by the JDK's records
}

// The faults are known by experiment: the tests of this package show each of them on the
// JDKs they run on. Where an update's number could not be learnt, the release counts as
// faulty: true bytes do no harm where they are not needed.
var (
	parameterNames = Bug{
		ID:       "JDK-8240908",
		Since:    8,
		FixedIn:  []Version{{Feature: 17, Update: 20}, {Feature: 19}},
		Loses:    "the parameter names",
		Who:      "classes with MethodParameters: javac -parameters, Scala, many of a compiler's own constructors",
		Helped:   true,
		HowKnown: "seen on 17.0.15, not on 25.0.3",
	}
	componentCount = Bug{
		ID:       "JDK-8315575",
		Since:    14,
		FixedIn:  []Version{{Feature: 23}},
		Loses:    "the readable form of the record components",
		Who:      "records whose components have annotations that do not last until run time",
		Helped:   true,
		HowKnown: "seen on 17.0.15 (ClassFormatError, nothing is redefined), not on 25.0.3; updates of 21 unknown",
	}
	componentTypes = Bug{
		ID:       "JDK-8376185",
		Since:    14,
		FixedIn:  []Version{{Feature: 25, Update: 4}, {Feature: 26, Update: 2}, {Feature: 27}},
		Loses:    "(or crashes over) the constants behind fields and components",
		Who:      "records with type annotations on components, when redefined with constants in other places",
		Helped:   true,
		HowKnown: "seen on 17.0.15 and 25.0.3 (SIGSEGV); harmless as long as constants keep their places; the update of 26 is inferred",
	}
	linkingRace = Bug{
		ID:       "JDK-8277444",
		Since:    8,
		FixedIn:  []Version{{Feature: 25, Update: 2}, {Feature: 26}},
		Loses:    "operands of instructions",
		Who:      "classes that are being linked at the moment they are retransformed",
		Helped:   true,
		HowKnown: "not run: a race; updates of 25 inferred, of others unknown",
	}
)

var bugs = []Bug{parameterNames, componentCount, componentTypes, linkingRace}

// Bugs returns the faults in redefinition that a JDK has, as far as they are known.
func Bugs(v Version) []Bug {
	return slices.DeleteFunc(slices.Clone(bugs), func(b Bug) bool { return !b.In(v) })
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
	// Releases between the updates that were repaired were left alone.
	return v.Feature < b.FixedIn[len(b.FixedIn)-1].Feature
}

// KeepsAll reports whether a class that a JDK redefines with what it shows itself
// is as it was before. Where it is not, the class's own file must be put in.
func KeepsAll(v Version) bool { return !parameterNames.In(v) }
