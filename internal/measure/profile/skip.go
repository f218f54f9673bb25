package profile

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// jdk are beginnings of the internal names of the JDK's own classes. Their time is
// shown with their callers: a program spends its calls there by the billion, and
// what it could change is seldom there.
var jdk = []string{
	"java/", "jdk/", "sun/", "com/sun/", "org/ietf/jgss/", "org/w3c/dom/", "org/xml/sax/", "netscape/javascript/",
	// Not all of javax: application servers have some of it.
	"javax/accessibility/", "javax/annotation/processing/", "javax/crypto/", "javax/imageio/", "javax/lang/model/",
	"javax/management/", "javax/naming/", "javax/net/", "javax/print/", "javax/rmi/", "javax/script/", "javax/security/",
	"javax/smartcardio/", "javax/sound/", "javax/sql/", "javax/swing/", "javax/tools/", "javax/transaction/xa/", "javax/xml/",
}

// skipping says which classes are not followed.
type skipping struct {
	into, skip *pattern.Set // nil where nothing was said
	excludes   []string     // beginnings of names of classes that are never followed
}

func newSkipping(into, skip, roots []string) (*skipping, error) {
	s := &skipping{}
	var err error
	if len(into) > 0 {
		if s.into, err = pattern.ParseSet(into...); err != nil {
			return nil, fmt.Errorf("into: %w", err)
		}
	}
	if len(skip) > 0 {
		if s.skip, err = pattern.ParseSet(skip...); err != nil {
			return nil, fmt.Errorf("skip: %w", err)
		}
	}
	wanted, err := pattern.ParseSet(append(append([]string(nil), into...), roots...)...)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	for _, prefix := range jdk {
		if !mayBeWanted(wanted, prefix) {
			s.excludes = append(s.excludes, prefix)
		}
	}
	return s, nil
}

// mayBeWanted reports whether a class whose name begins so may be in a set.
func mayBeWanted(set *pattern.Set, prefix string) bool {
	for _, pattern := range set.Includes() {
		begin, _ := pattern.ClassBounds()
		if strings.HasPrefix(begin, prefix) || strings.HasPrefix(prefix, begin) {
			return true
		}
	}
	return false
}

// class reports whether a class is skipped.
func (s *skipping) class(name string) bool {
	if s.into != nil && s.into.MatchClass(name) {
		return false
	}
	if s.skip != nil && s.skip.MatchClass(name) {
		return true
	}
	for _, prefix := range jdk {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
