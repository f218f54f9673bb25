package callgraph

import "strings"

// Project is the part of a class's internal name that the classes of one project share:
// two words where the first is a domain's, else one.
func Project(class string) string {
	first, rest, _ := strings.Cut(class, "/")
	switch first {
	case "com", "org", "net", "io", "dev", "edu", "gov", "de", "uk", "fr", "jp", "cn", "ru", "ch", "nl", "eu":
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}
