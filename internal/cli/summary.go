package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

// summary is what `sonde instrument` tells at its end.
type summary struct {
	Input     string   `json:"input"`
	Output    string   `json:"output"`
	Templates []string `json:"templates"`
	Classes   struct {
		Read  int `json:"read"`
		Woven int `json:"woven"`
	} `json:"classes"`
	Methods struct {
		Woven     int `json:"woven"`
		LeftAlone int `json:"leftAlone"`
		NoCode    int `json:"withoutCode"`
	} `json:"methods"`
	LeftAlone  []leftAlone `json:"leftAlone"`
	NestedJars int         `json:"nestedJars"`
	Unsigned   []string    `json:"signaturesStripped,omitempty"`
	NotJars    []string    `json:"notJars,omitempty"`
	LinksOut   []string    `json:"linksOut,omitempty"`
	Modules    []string    `json:"modules,omitempty"`
	Unmatched  []string    `json:"unmatchedPatterns,omitempty"`
	Seconds    float64     `json:"seconds"`
	Run        string      `json:"run,omitempty"`

	needsRuntime bool
}

// mostNamed is how many methods are named per reason without -v.
const mostNamed = 5

func (j *job) summary(i *instrument, report *archive.Report, used *templates, took time.Duration) *summary {
	s := &summary{
		Input: i.input, Output: i.output, Templates: i.template, LeftAlone: j.left,
		NestedJars: report.Nested, Unsigned: report.Stripped, NotJars: report.NotJars, LinksOut: report.LinksOut,
		Modules: slices.Sorted(slices.Values(j.modules)), Unmatched: j.unused(), Seconds: took.Seconds(), needsRuntime: used.builtin,
	}
	if s.LeftAlone == nil {
		s.LeftAlone = []leftAlone{}
	}
	s.Classes.Read, s.Classes.Woven = report.Classes, report.Changed
	s.Methods.Woven, s.Methods.LeftAlone, s.Methods.NoCode = j.woven, len(j.left), j.codeless
	s.Run = runHint(i.output, used.builtin)
	return s
}

// runHint is the command that runs the result.
func runHint(output string, needsRuntime bool) string {
	classPath := output
	if filepath.Ext(output) == ".class" {
		classPath = filepath.Dir(output)
	}
	if needsRuntime {
		classPath += string(os.PathListSeparator) + runtimeJarName
	}
	main := archive.MainClass(output)
	if main == "" {
		main = "MAIN-CLASS"
	}
	return "java -cp " + shellWord(classPath) + " " + shellWord(main)
}

// shellWord quotes what a shell would take apart or expand.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:+,@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (s *summary) print(w io.Writer, verbose bool) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	_, _ = fmt.Fprintf(out, "wrote %s in %.1f s\n", s.Output, s.Seconds)
	_, _ = fmt.Fprintf(out, "classes  %s woven of %s read", grouped(s.Classes.Woven), grouped(s.Classes.Read))
	if s.NestedJars > 0 {
		_, _ = fmt.Fprintf(out, ", %s looked into", count(s.NestedJars, "nested jar", "nested jars"))
	}
	_, _ = fmt.Fprintf(out, "\nmethods  %s woven, %s left alone", grouped(s.Methods.Woven), grouped(s.Methods.LeftAlone))
	if s.Methods.NoCode > 0 {
		_, _ = fmt.Fprintf(out, ", %s abstract or native", grouped(s.Methods.NoCode))
	}
	_, _ = fmt.Fprintln(out)
	s.printLeftAlone(out, verbose)
	for _, pattern := range s.Unmatched {
		_, _ = fmt.Fprintf(out, "note: no method matches %s\n", pattern)
	}
	for _, jar := range s.Unsigned {
		_, _ = fmt.Fprintf(out, "note: %s is no longer signed\n", jar)
	}
	for _, name := range s.NotJars {
		_, _ = fmt.Fprintf(out, "note: %s is no jar, copied as it is\n", name)
	}
	s.printLinks(out, verbose)
	_, _ = fmt.Fprintf(out, "run it:  %s\n", s.Run)
	for _, module := range s.Modules {
		_, _ = fmt.Fprintf(out, "         (on the module path, with --add-reads %s=ALL-UNNAMED)\n", module)
	}
	if s.needsRuntime {
		_, _ = fmt.Fprintf(out, "         (sonde runtime-jar writes %s)\n", runtimeJarName)
	}
	return out.Flush()
}

// printLinks says which links still lead to what is not woven.
func (s *summary) printLinks(out io.Writer, verbose bool) {
	const most = 5
	if len(s.LinksOut) == 0 {
		return
	}
	shown, more := s.LinksOut, ""
	if len(shown) > most && !verbose {
		shown, more = shown[:most], ", …"
	}
	_, _ = fmt.Fprintf(out, "note: %s out of the input, to what is not woven: %s%s\n",
		count(len(s.LinksOut), "link leads", "links lead"), strings.Join(shown, ", "), more)
}

// printLeftAlone groups by reason, in the order the reasons were met.
func (s *summary) printLeftAlone(out io.Writer, verbose bool) {
	groups := map[string][]*leftAlone{}
	var kinds []string
	for i := range s.LeftAlone {
		l := &s.LeftAlone[i]
		if groups[l.Kind] == nil {
			kinds = append(kinds, l.Kind)
		}
		groups[l.Kind] = append(groups[l.Kind], l)
	}
	for _, kind := range kinds {
		group := groups[kind]
		_, _ = fmt.Fprintf(out, "left alone, as %s: %s\n", kind, grouped(len(group)))
		for n, l := range group {
			if n == mostNamed && !verbose && len(group) > mostNamed {
				_, _ = fmt.Fprintf(out, "  … and %s more (-v names them)\n", grouped(len(group)-n))
				break
			}
			detail := strings.TrimPrefix(strings.TrimPrefix(l.Reason, kind), ": ")
			if detail != "" {
				detail = ": " + detail
			}
			_, _ = fmt.Fprintf(out, "  %s%s\n", l.name(), detail)
		}
	}
}
