package suggest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A Method is one of the program, as class files name it. Thread dumps tell no
// descriptor: where it is empty all methods of the name are meant.
type Method struct{ Class, Name, Descriptor string }

func methodOf(m *jfr.Method) Method { return Method{m.Class, m.Name, m.Descriptor} }

// String is the method as a person writes it, without its parameters.
func (m Method) String() string { return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name }

func (m Method) compare(other Method) int {
	return cmp.Or(strings.Compare(m.Class, other.Class), strings.Compare(m.Name, other.Name), strings.Compare(m.Descriptor, other.Descriptor))
}

// anyOverload is the method as a thread dump tells it.
func (m Method) anyOverload() Method { return Method{Class: m.Class, Name: m.Name} }

// pattern names the method in a set. Where the class has no other of that name the
// parameters are left out. It is empty where no pattern names this method and no other.
func (m Method) pattern(alone bool) string {
	text := m.String()
	if !alone && m.Descriptor != "" {
		parsed, err := descriptor.ParseMethod(m.Descriptor)
		if err != nil {
			return ""
		}
		parameters := make([]string, 0, parsed.NumParams())
		for _, parameter := range parsed.Params() {
			parameters = append(parameters, parameter.Human())
		}
		text += "(" + strings.Join(parameters, ",") + "):" + parsed.Return().Human()
	}
	parsed, err := pattern.Parse(text)
	if err != nil || strings.Contains(text, "*") || m.Descriptor != "" && !parsed.Match(m.Class, m.Name, m.Descriptor) {
		return ""
	}
	return text
}

// carriers are where methods are that only carry a call: to a lambda, a member, a
// handle.
var carriers = []string{"java/lang/invoke/", "java/lang/reflect/", "jdk/internal/reflect/", "jdk/internal/vm/", "java/lang/Thread"}

// carries reports whether a method is none that someone wrote, or does nothing but call
// another.
func (m Method) carries() bool {
	return strings.Contains(m.Class, "$$Lambda") || strings.ContainsAny(m.Class, "+;[") || hasPrefix(m.Class, carriers)
}

// isOurs tells the methods of Sonde itself.
func (m Method) isOurs() bool {
	return strings.HasPrefix(m.Class, "java/lang/SondeHooks") || strings.HasPrefix(m.Class, "sonde/agent/")
}

// isLambdaBody tells methods that compilers made of a lambda.
func (m Method) isLambdaBody() bool { return strings.HasPrefix(m.Name, "lambda$") }

var (
	library = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/", "netscape/", "org/ietf/", "org/w3c/", "org/xml/"}
	// These begin as the JDK's do and are not.
	besideLibrary = []string{
		"javax/servlet/", "javax/persistence/", "javax/jms/", "javax/ws/", "javax/inject/", "javax/ejb/", "javax/faces/", "javax/el/", "javax/validation/",
		"javax/batch/", "javax/enterprise/", "javax/mail/", "javax/json/", "javax/cache/",
	}
	// central are the JDK's packages on which all else stands: to redefine a class of
	// theirs throws away what is compiled of half the program.
	central = []string{
		"java/", "jdk/internal/", "sun/nio/", "sun/misc/", "sun/reflect/", "sun/security/", "sun/util/", "sun/invoke/", "sun/launcher/", "jdk/jfr/", "sun/net/www/",
	}
)

// isLibrary tells classes of the JDK.
func isLibrary(class string) bool {
	return hasPrefix(class, library) && !hasPrefix(class, besideLibrary)
}

// besideCentral are classes among those that little else is compiled into: a server's
// loop calls the selector itself, and no method of the program's stands between.
var besideCentral = []string{"jdk/internal/net/http/", "sun/nio/ch/SelectorImpl"}

// isCentral tells those of them that are left alone.
func isCentral(class string) bool {
	return hasPrefix(class, central) && !hasPrefix(class, besideCentral)
}

func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
