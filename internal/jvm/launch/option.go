package launch

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// ToolOptions is the variable from which every JVM reads options.
const ToolOptions = "JAVA_TOOL_OPTIONS"

// AgentJarPrefix begins the name of every jar of the agent, and identifies its option among others.
const AgentJarPrefix = "sonde-agent"

// An AgentOption is the option that loads Sonde's agent when a JVM starts.
type AgentOption struct {
	Jar   string
	Pack  string   // file; empty for an agent that only waits
	Arena string   // file or directory for the measurements of a pack; empty for the default
	Only  []string // globs of the programs to measure: main class, or path or name of a jar
	Not   []string // globs of programs to exclude

	Hold time.Duration // how long the program may be held at its start; 0 for not at all
	By   int           // the process that holds it; its end releases the program
}

// The problems of a part of the option.
var (
	errComma  = errors.New("the agent's options are separated by commas: choose a name without one")
	errQuotes = errors.New("it contains both kinds of quotes, single and double, so it cannot be quoted: choose names with only one kind of quote, or none")
	errEquals = errors.New("a JVM ends the name of an agent jar at an equals sign: choose a directory without one")
	errBreak  = errors.New("it contains a control character: choose a name without it")
)

// Text returns the option for JAVA_TOOL_OPTIONS, quoted if it contains blanks or quotes.
func (o *AgentOption) Text() (string, error) {
	text, err := o.word()
	if err != nil {
		return "", err
	}
	quoted, err := quote(text)
	if err != nil {
		return "", fmt.Errorf("the option %q: %w", text, err)
	}
	return quoted, nil
}

// word returns the option for a command line.
func (o *AgentOption) word() (string, error) {
	if strings.ContainsRune(o.Jar, '=') {
		return "", fmt.Errorf("the agent's jar %q: %w", o.Jar, errEquals)
	}
	var arguments []string
	add := func(key string, values ...string) error {
		for _, value := range values {
			if value == "" {
				continue
			}
			if strings.ContainsRune(value, ',') {
				return fmt.Errorf("--%s %q: %w", key, value, errComma)
			}
			arguments = append(arguments, key+"="+value)
		}
		return nil
	}
	err := errors.Join(add("pack", o.Pack), add("arena", o.Arena), add("only", o.Only...), add("not", o.Not...))
	if err != nil {
		return "", err
	}
	if o.Hold > 0 {
		arguments = append(arguments, fmt.Sprintf("hold=%d", max(1, int64(o.Hold.Round(time.Second)/time.Second))), fmt.Sprintf("by=%d", o.By))
	}
	text := "-javaagent:" + o.Jar
	if len(arguments) > 0 {
		text += "=" + strings.Join(arguments, ",")
	}
	return text, nil
}

// quote makes a text one word of JAVA_TOOL_OPTIONS.
func quote(text string) (string, error) {
	single, double := strings.ContainsRune(text, '\''), strings.ContainsRune(text, '"')
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", errBreak
	case single && double:
		return "", errQuotes
	case double:
		return "'" + text + "'", nil
	case single || strings.Contains(text, " "):
		return `"` + text + `"`, nil
	}
	return text, nil
}

// WithOption adds an option to the value of the variable. It removes an older option of Sonde's agent and keeps all
// others.
func WithOption(have, option string) string {
	var kept []string
	words, raw := process.SplitOptions(have)
	for i, word := range words {
		if !isOurs(word) {
			kept = append(kept, raw[i])
		}
	}
	return strings.Join(append(kept, option), " ")
}

// isOurs reports whether an option loads Sonde's agent.
func isOurs(option string) bool {
	jar, is := strings.CutPrefix(option, "-javaagent:")
	jar, _, _ = strings.Cut(jar, "=")
	base := path.Base(jar)
	return is && strings.HasPrefix(base, AgentJarPrefix) && strings.HasSuffix(base, ".jar")
}
