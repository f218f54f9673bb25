package process

import (
	"slices"
	"strings"
)

// options are what a JVM was told at its start, later words overruling earlier
// ones.
type options struct {
	words    []string
	main     string // class, module or jar
	complete bool   // nothing was named that could not be read
}

// sources are what options are taken from.
type sources struct {
	command     []string
	launcher    bool // the command is java's own
	environment map[string]string
	environOK   bool
	readFile    func(path string) ([]byte, error) // as the process sees it
}

// collect puts a JVM's options together in the order it heeds them.
func collect(s sources) options {
	o := options{complete: s.environOK && s.launcher}
	o.addAll(s, splitOptions(s.environment["JAVA_TOOL_OPTIONS"]))
	if s.launcher && len(s.command) > 0 {
		words := splitOptions(s.environment["JDK_JAVA_OPTIONS"])
		o.addCommand(s, append(words, s.command[1:]...))
	}
	o.addAll(s, splitOptions(s.environment["_JAVA_OPTIONS"]))
	return o
}

// takesValue are the launcher's options whose value is a word of its own.
var takesValue = []string{
	"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
	"--limit-modules", "--add-reads", "--add-exports", "--add-opens", "--patch-module", "--source",
	"--enable-native-access", "--illegal-native-access", "--finalization", "-d", "--describe-module",
}

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
			return
		case slices.Contains(takesValue, word):
			i++
		case !strings.HasPrefix(word, "-"):
			o.main = word
			return
		default:
			o.add(s, word)
		}
	}
}

// mostWords and deepest bound what files that name files can do.
const (
	mostWords = 100_000
	deepest   = 4
)

// expand puts the content of @argument files in their places, up to the main
// class, after which an @ means nothing. whole is false where one could not be
// read.
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

// add takes one option, and those of a file it names.
func (o *options) add(s sources, word string) { o.addAt(s, word, 0) }

func (o *options) addAt(s sources, word string, depth int) {
	o.words = append(o.words, word)
	name, isFile := strings.CutPrefix(word, "-XX:VMOptionsFile=")
	if strings.HasPrefix(word, "-XX:Flags=") {
		// A file in a format of its own, for those who debug HotSpot.
		o.complete = false
	}
	if !isFile {
		return
	}
	text, err := s.readFile(name)
	if err != nil || depth >= deepest || len(o.words) > mostWords {
		o.complete = false
		return
	}
	for _, inner := range splitOptions(string(text)) {
		o.addAt(s, inner, depth+1)
	}
}

// flag is the value of a boolean -XX option that words leave behind.
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

// reducesSignals tells whether the JVM leaves SIGQUIT alone.
func reducesSignals(words []string) bool {
	return slices.Contains(words, "-Xrs") || flag(words, "ReduceSignalUsage", false)
}

// splitOptions splits the value of JAVA_TOOL_OPTIONS and its like: words
// between white space, in which either quote groups and nothing escapes.
func splitOptions(text string) []string {
	return split(text, false)
}

// splitArguments splits the content of an @argument file: as splitOptions, and
// a backslash in quotes escapes, # starts a comment.
func splitArguments(text string) []string {
	return split(text, true)
}

func split(text string, argumentFile bool) []string {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		b := text[i]
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
			end()
		case argumentFile && b == '#' && !begun:
			for i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r' {
				i++
			}
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	end()
	return words
}

// unescape adds what the text after a backslash stands for, and returns how
// many bytes beyond the first it took.
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
		// The line goes on after the white space that begins the next one.
		return len(rest) - len(strings.TrimLeft(rest, " \t\n\r\f")) - 1
	default:
		word.WriteByte(rest[0])
	}
	return 0
}
