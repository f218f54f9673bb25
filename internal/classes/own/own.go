// Package own distinguishes the classes of a program from those of the JDK and of libraries. Which
// packages are the program's own is guessed from its main class, its class path and a list of known
// libraries, or given by the user.
package own

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// Packages are the packages of a program, as opposed to packages of libraries.
type Packages struct {
	Names []string `json:"packages"`       // with dots, such as com.acme, each with the packages below it; "" is the unnamed package
	From  string   `json:"from,omitempty"` // how they are known, such as "the main jar"
	Rest  bool     `json:"rest,omitempty"` // also all classes that belong to no known library
}

// Given returns the packages that a user has named, with or without the stars of a pattern.
func Given(names []string) Packages {
	p := Packages{From: "--own"}
	for _, name := range names {
		p.Names = append(p.Names, strings.TrimRight(name, ".*"))
	}
	return p
}

// Has reports whether a class, by its internal name, belongs to the program.
func (p Packages) Has(class string) bool {
	pkg := descriptor.PackageOf(class)
	return slices.ContainsFunc(p.Names, func(name string) bool { return isIn(pkg, slashed(name)) }) || p.Rest && !IsLibrary(class)
}

// mostNamed is how many packages a line names.
const mostNamed = 6

// String returns one line that says what the packages are and how they are known.
func (p Packages) String() string {
	var names []string
	for _, name := range p.Names[:min(len(p.Names), mostNamed)] {
		if name == "" {
			name = "the unnamed package"
		}
		names = append(names, name)
	}
	if len(p.Names) > mostNamed {
		names = append(names, "…")
	}
	if p.Rest {
		names = append(names, "all that are not of a known library")
	}
	if p.From == "--own" {
		return "own packages: " + strings.Join(names, ", ") + " (--own)"
	}
	return "own packages: " + strings.Join(names, ", ") + " (from " + p.From + "; --own changes it)"
}

func slashed(name string) string { return strings.ReplaceAll(name, ".", "/") }

// isIn reports whether a package is another one or below it. Nothing is below the unnamed package.
func isIn(pkg, other string) bool {
	return pkg == other || other != "" && strings.HasPrefix(pkg, other) && pkg[len(other)] == '/'
}

// root returns the part of a package's name that the packages of one project share; false if the
// name is only a domain that many projects share.
func root(pkg string) (name string, ok bool) {
	segments := strings.Split(pkg, "/")
	n := 1
	if len(segments[0]) == 2 || slices.Contains(domains, segments[0]) {
		n = 2
	}
	if len(segments) > 1 && (slices.Contains(hosts, segments[0]+"/"+segments[1]) || len(segments[0]) == 2 && slices.Contains(seconds, segments[1])) {
		n = 3
	}
	if len(segments) < n {
		return "", false
	}
	return strings.Join(segments[:n], "/"), true
}

// domains are the first segments of names under which many projects are, besides those of countries.
var domains = []string{"com", "org", "net", "edu", "gov", "dev", "app", "info", "biz", "cloud", "tech", "software"}

// hosts are names of two segments under which many projects are.
var hosts = []string{
	"org/apache", "org/eclipse", "org/jboss", "org/codehaus", "org/springframework", "com/github", "io/github", "com/gitlab", "io/gitlab",
	"org/bitbucket", "com/google", "com/googlecode", "com/oracle", "com/ibm", "com/microsoft", "com/amazon", "net/sf", "net/sourceforge",
	"org/sourceforge",
}

// seconds are second segments below a country under which many projects are, as in uk.co.acme.
var seconds = []string{"co", "com", "org", "net", "ac", "edu", "gov"}
