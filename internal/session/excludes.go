package session

import (
	"slices"
	"strings"
)

// Excludes are beginnings of internal names. As in filters, a $ counts as a /.

func slashed(class string) string { return strings.ReplaceAll(class, "$", "/") }

// common are excludes for what both of two lists exclude.
func common(a, b []string) (both []string) {
	for _, one := range a {
		for _, two := range b {
			switch {
			case strings.HasPrefix(one, two):
				both = append(both, one)
			case strings.HasPrefix(two, one):
				both = append(both, two)
			}
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// sparing are excludes that spare all names with a beginning, and otherwise exclude
// what others do, or a little less. One that covers the beginning is split, from
// package to package, by the letter its members begin with:
//
//	sparing {"java/"}, "java/util/Map":  java/a … java/t, java/v … java/util/A … java/util/L …
func sparing(excludes []string, beginning string) (spared []string) {
	for _, exclude := range excludes {
		switch {
		case strings.HasPrefix(exclude, beginning):
			// All that it excludes is to be spared.
		case !strings.HasPrefix(beginning, exclude):
			spared = append(spared, exclude)
		default:
			spared = appendAround(spared, exclude, beginning)
		}
	}
	return spared
}

func appendAround(spared []string, exclude, beginning string) []string {
	from := len(exclude)
	for {
		if from == len(beginning) {
			return spared
		}
		for i := range len(letters) {
			if letters[i] != beginning[from] {
				spared = append(spared, beginning[:from]+letters[i:i+1])
			}
		}
		slash := strings.IndexByte(beginning[from:], '/')
		if slash < 0 {
			return spared
		}
		from += slash + 1
	}
}
