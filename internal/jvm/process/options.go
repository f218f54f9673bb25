package process

import (
	"errors"
	"slices"
	"strings"
)

// options are the options that a JVM was started with. Later words override earlier ones.
type options struct {
	words     []string
	main      string // class, module or jar
	classPath string // as given
	complete  bool   // all sources could be read
}

// sources are the places that options come from.
type sources struct {
	command     []string
	launcher    bool // the command is java's own
	environment map[string]string
	environOK   bool
	readFile    func(path string) ([]byte, error) // as the process sees it
}

// collect returns a JVM's options in the order in which it evaluates them.
func collect(s sources) options {
	o := options{complete: s.environOK && s.launcher, classPath: s.environment["CLASSPATH"]}
	read, files := s.readFile, 0
	s.readFile = func(name string) ([]byte, error) {
		if files++; files > mostFiles {
			return nil, errTooManyFiles
		}
		return read(name)
	}
	o.addAll(s, splitOptions(s.environment["JAVA_TOOL_OPTIONS"]))
	if s.launcher && len(s.command) > 0 {
		words := splitOptions(s.environment["JDK_JAVA_OPTIONS"])
		o.addCommand(s, append(words, s.command[1:]...))
	}
	o.addAll(s, splitOptions(s.environment["_JAVA_OPTIONS"]))
	return o
}

// takesValue are the launcher's options whose value is the next word.
var takesValue = []string{
	"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
	"--limit-modules", "--add-reads", "--add-exports", "--add-opens", "--patch-module", "--source",
	"--enable-native-access", "--illegal-native-access", "--finalization", "-d", "--describe-module",
}

// classPathOptions are the options in takesValue that set the class path.
var classPathOptions = []string{"-cp", "-classpath", "--class-path"}

// addCommand reads the launcher's words up to the main class or jar.
func (o *options) addCommand(s sources, words []string) {
	words, whole := expand(s, words)
	o.complete = o.complete && whole
	for i := 0; i < len(words); i++ {
		word := words[i]
		module, isModule := strings.CutPrefix(word, "--module=")
		switch {
		case isModule:
			o.main = module
			return
		case word == "-jar" || word == "-m" || word == "--module":
			if i+1 < len(words) {
				o.main = words[i+1]
			}
			if word == "-jar" {
				o.classPath = o.main
			}
			return
		case slices.Contains(takesValue, word):
			if i++; i < len(words) && slices.Contains(classPathOptions, word) {
				o.classPath = words[i]
			}
		case !strings.HasPrefix(word, "-"):
			o.main = word
			return
		default:
			if value, is := strings.CutPrefix(word, "--class-path="); is {
				o.classPath = value
			}
			o.add(s, word)
		}
	}
}

// What bounds the options of files that refer to files, even to themselves.
const (
	mostFiles = 16 // of a process
	mostWords = 100_000
	deepest   = 4
)

var errTooManyFiles = errors.New("its options are in too many files")

// expand replaces @argument files by their content, up to the main class. whole is false if one
// could not be read.
func expand(s sources, words []string) (expanded []string, whole bool) {
	whole = true
	awaitsValue := false
	for i, word := range words {
		name, isFile := strings.CutPrefix(word, "@")
		switch {
		case word == "--disable-@files":
			return append(expanded, words[i+1:]...), whole
		case isFile && strings.HasPrefix(name, "@"):
			expanded = append(expanded, name)
		case isFile && name != "":
			text, err := s.readFile(name)
			if err != nil || len(text) > mostWords*8 {
				whole = false
				continue
			}
			expanded = append(expanded, splitArguments(string(text))...)
		default:
			expanded = append(expanded, word)
			if !awaitsValue && !strings.HasPrefix(word, "-") || word == "-jar" || word == "-m" {
				return append(expanded, words[i+1:]...), whole
			}
		}
		awaitsValue = slices.Contains(takesValue, word)
	}
	return expanded, whole
}

func (o *options) addAll(s sources, words []string) {
	for _, word := range words {
		o.add(s, word)
	}
}

// add adds an option, and the options in a file that it names.
func (o *options) add(s sources, word string) { o.addAt(s, word, 0) }

func (o *options) addAt(s sources, word string, depth int) {
	o.words = append(o.words, word)
	name, isFile := strings.CutPrefix(word, "-XX:VMOptionsFile=")
	if strings.HasPrefix(word, "-XX:Flags=") {
		// A file in another format, for debugging HotSpot.
		o.complete = false
	}
	if !isFile {
		return
	}
	var text []byte
	err := errTooManyFiles
	if depth < deepest {
		text, err = s.readFile(name)
	}
	o.complete = o.complete && err == nil
	for _, inner := range splitOptions(string(text)) {
		if len(o.words) > mostWords {
			o.complete = false
			return
		}
		o.addAt(s, inner, depth+1)
	}
}

// flag returns the final value of a boolean -XX option.
func flag(words []string, name string, value bool) bool {
	for _, word := range words {
		switch word {
		case "-XX:+" + name:
			value = true
		case "-XX:-" + name:
			value = false
		}
	}
	return value
}

// reducesSignals reports whether the JVM does not handle SIGQUIT.
func reducesSignals(words []string) bool {
	return slices.Contains(words, "-Xrs") || flag(words, "ReduceSignalUsage", false)
}

// installsSecurityManager reports whether an option installs a SecurityManager. The values allow and disallow only say
// whether the program may set one.
func installsSecurityManager(words []string) (is bool) {
	for _, word := range words {
		if value, set := strings.CutPrefix(word, "-Djava.security.manager"); set && (value == "" || value[0] == '=') {
			is = value != "=allow" && value != "=disallow"
		}
	}
	return is
}

// SplitOptions splits the value of JAVA_TOOL_OPTIONS and similar variables at white space. Both
// kinds of quotes group; there is no escape character. raw has the words with their quotes, and a
// quote that is missing at the end, which JVMs accept.
func SplitOptions(text string) (words, raw []string) { return split(text, false) }

// splitArguments splits the content of an @argument file: like SplitOptions, but a backslash in
// quotes escapes and # starts a comment.
func splitArguments(text string) []string {
	words, _ := split(text, true)
	return words
}

func splitOptions(text string) []string {
	words, _ := split(text, false)
	return words
}

func split(text string, argumentFile bool) (words, raw []string) {
	var word strings.Builder
	begun, quote, first := false, byte(0), 0
	end := func(at int) {
		if begun {
			words, raw = append(words, word.String()), append(raw, text[first:at])
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		b := text[i]
		if !begun {
			first = i
		}
		switch {
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0 && argumentFile && b == '\\' && i+1 < len(text):
			i++
			i += unescape(&word, text[i:])
		case quote != 0:
			word.WriteByte(b)
		case b == '"' || b == '\'':
			quote, begun = b, true
		case strings.IndexByte(" \t\n\r\f\v", b) >= 0:
			end(i)
		case argumentFile && b == '#' && !begun:
			for i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r' {
				i++
			}
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	end(len(text))
	if quote != 0 {
		raw[len(raw)-1] += string(quote)
	}
	return words, raw
}

// unescape decodes the escape sequence after a backslash, and returns the number of bytes that it
// consumed beyond the first.
func unescape(word *strings.Builder, rest string) int {
	switch rest[0] {
	case 'n':
		word.WriteByte('\n')
	case 'r':
		word.WriteByte('\r')
	case 't':
		word.WriteByte('\t')
	case 'f':
		word.WriteByte('\f')
	case '\n', '\r':
		// The line continues after the leading white space of the next one.
		return len(rest) - len(strings.TrimLeft(rest, " \t\n\r\f")) - 1
	default:
		word.WriteByte(rest[0])
	}
	return 0
}
