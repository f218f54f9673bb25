package cli

import (
	"encoding/json"
	"strings"
)

// envFormats write a variable for a shell or for a program.
var envFormats = map[string]func(name, value string) string{
	"sh":     func(name, value string) string { return "export " + name + "=" + shellWord(value) },
	"fish":   func(name, value string) string { return "set -gx " + name + " " + fishWord(value) },
	"dotenv": func(name, value string) string { return name + "=" + dotenvWord(value) },
	"json":   envJSON,
}

// fishWord quotes for fish, in whose single quotes a backslash is one.
func fishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// dotenvWord quotes only what needs it: some readers of such files take quotes for a
// part of the value.
func dotenvWord(text string) string {
	switch {
	case !strings.ContainsAny(text, "'\"#$`\\"):
		return text
	case !strings.Contains(text, "'"):
		return "'" + text + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
}

func envJSON(name, value string) string {
	text, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err) // texts have a form
	}
	return string(text)
}
