package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A lookKind is a command that the service can run as a look.
type lookKind struct {
	name     string
	methods  string // the property of its arguments after PID; empty if there are none
	document any    // a value of the type of its documents
}

var lookKinds = []lookKind{
	{"count", "methods", document.Count{}},
	{"monitor", "methods", document.Monitor{}},
	{"calls", "", document.Monitor{}},
	{"trace", "methods", document.Transaction{}},
	{"profile", "", document.Profile{}},
	{"walk", "", document.RootCause{}},
	{"drill", "methods", document.Drill{}},
	{"hot", "", document.Hot{}},
	{"observe", "", document.Proposal{}},
	{"callees", "methods", document.Callees{}},
	{"find", "methods", document.Find{}},
	{"attach", "", document.Attached{}},
	{"apply", "", document.Applied{}},
}

// Flags that are no options of a look, because the service or the client has them.
var clientFlags = []string{"help", "json", backgroundFlag, noServiceFlag, "start", "agent-dir", "dry-run", "yes", "end", probesFlag, "weave", "pack", "template", "match", "trusted", "javac", "template-classpath"}

// pathFlags name files. The service has another working directory.
var pathFlags = []string{"output", "prometheus", "token-file", "cache"}

// probesFlag names a file of probes, in all commands that have one.
const probesFlag = "probes"

// probesProperty is the text of the file of probes; titleFlag is its name.
const (
	probesProperty = "probes"
	titleFlag      = "title"
)

// kindOf returns the kind of look that a command is; nil if it is none.
func kindOf(name string) *lookKind {
	i := slices.IndexFunc(lookKinds, func(k lookKind) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &lookKinds[i]
}

// describe returns the kind as the service needs it.
func (k *lookKind) describe(command *cobra.Command) service.Command {
	d := service.Command{Name: k.name, Summary: command.Short, Result: k.document, Line: k.line}
	if k.methods != "" {
		d.Properties = append(d.Properties, service.Property{Name: k.methods, Type: "array", Required: k.name != "drill", Description: "patterns of methods"})
	}
	if k.name == "trace" {
		d.More = map[string]any{"TraceResult": document.Trace{}, "TraceEnd": document.TraceEnd{}}
	}
	if k.name == "apply" {
		d.Parts = map[string]any{"PUT probes": handover.Outcome{}, "GET status": handover.Status{}}
		d.Properties = append(d.Properties, service.Property{Name: probesProperty, Type: "string", Required: true, Description: "the text of a file of probes: docs/formats/probes.md"})
	}
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(clientFlags, flag.Name) {
			return
		}
		_, usage := pflag.UnquoteUsage(flag)
		p := service.Property{Name: flag.Name, Type: propertyType(flag), Description: usage}
		if p.Type != "array" && flag.DefValue != "false" && flag.DefValue != "0" {
			p.Default = flag.DefValue
		}
		d.Properties = append(d.Properties, p)
	})
	return d
}

func propertyType(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "boolean"
	case "int", "uint32", "uint64":
		return "integer"
	}
	if _, isList := flag.Value.(pflag.SliceValue); isList {
		return "array"
	}
	return "string"
}

// line returns the command line of a request, as people would type it, but without secrets.
func (k *lookKind) line(r service.Request) string {
	words := []string{strconv.Itoa(r.PID)}
	var methods []string
	_ = json.Unmarshal(r.Options[k.methods], &methods)
	words = append(words, methods...)
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		switch name {
		case k.methods, probesProperty, otlpSettingsFlag: // the last one can have tokens
			continue
		}
		for _, text := range optionTexts(r.Options[name]) {
			switch {
			case name == titleFlag:
				words = append(words, "-f", text)
			case text == "true":
				words = append(words, "--"+name)
			case text == "false":
				words = append(words, "--"+name+"=false")
			default:
				if address, err := url.Parse(text); err == nil && address.User != nil {
					text = address.Redacted()
				}
				words = append(words, "--"+name, text)
			}
		}
	}
	return commandLine(k.name, words)
}

// optionTexts returns the values of an option as a command line has them.
func optionTexts(value json.RawMessage) (texts []string) {
	var text string
	switch {
	case json.Unmarshal(value, &texts) == nil:
		return texts
	case json.Unmarshal(value, &text) == nil:
		return []string{text}
	}
	return []string{string(value)}
}

// args returns the command line of a request.
func (k *lookKind) args(r service.Request) []string {
	args := []string{k.name, strconv.Itoa(r.PID)}
	for name, value := range r.Options {
		if name == k.methods || name == probesProperty {
			continue
		}
		for _, text := range optionTexts(value) {
			args = append(args, "--"+name+"="+text)
		}
	}
	if k.name == "apply" {
		args = append(args, "--"+probesFlag+"=-")
	}
	if !r.Text {
		args = append(args, "--json")
	}
	var methods []string
	_ = json.Unmarshal(r.Options[k.methods], &methods) // checked before
	return append(append(args, "--"), methods...)
}

// options returns the options of a command line whose flags are parsed, as a look has them. The
// command may be another one that has flags of this kind of look.
func (k *lookKind) options(flags *pflag.FlagSet, args []string) (map[string]any, error) {
	options := make(map[string]any)
	if k.methods != "" {
		options[k.methods] = args[1:]
	}
	var failed error
	flags.Visit(func(flag *pflag.Flag) {
		if slices.Contains(clientFlags, flag.Name) {
			return
		}
		value := flagValue(flag)
		if slices.Contains(pathFlags, flag.Name) {
			var err error
			value, err = absolute(value)
			failed = errors.Join(failed, err)
		}
		options[flag.Name] = value
	})
	_, isNamed := options["cache"]
	_, isOff := options["no-cache"]
	if flags.Lookup("cache") != nil && !isNamed && !isOff { // else it weaves nothing
		cache := (&cacheFlags{}).resolved()
		if cache.dir != "" {
			options["cache"] = cache.dir
		}
		if cache.none {
			options["no-cache"] = true
		}
	}
	return options, failed
}

func flagValue(flag *pflag.Flag) any {
	if list, is := flag.Value.(pflag.SliceValue); is {
		return list.GetSlice()
	}
	text := flag.Value.String()
	if kind := propertyType(flag); kind == "boolean" || kind == "integer" {
		return json.RawMessage(text)
	}
	return text
}

func absolute(value any) (any, error) {
	path := func(name string) (string, error) {
		if name == "" || name == standardOutput {
			return name, nil
		}
		return filepath.Abs(name)
	}
	if list, is := value.([]string); is {
		for i := range list {
			var err error
			if list[i], err = path(list[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return path(value.(string))
}

// A host runs the commands of looks inside the service.
type host struct {
	localHost
	sessions session.Sessions
	commands []service.Command
	listens  bool // also at an address, for clients that have the token

	lock   sync.Mutex
	caches map[string]*cache.Cache
}

func newHost() *host {
	h := &host{caches: make(map[string]*cache.Cache), sessions: session.Sessions{Command: "sonde serve"}}
	h.localHost.service = h
	started := false
	root := newRoot(streams{out: io.Discard, err: io.Discard}, &started)
	for i := range lookKinds {
		command, _, err := root.Find([]string{lookKinds[i].name})
		if err != nil {
			panic(err) // a name in the list is wrong
		}
		h.commands = append(h.commands, lookKinds[i].describe(command))
	}
	return h
}

// Commands implements service.Runner.
func (h *host) Commands() []service.Command { return h.commands }

// Check implements service.Runner.
func (h *host) Check(r service.Request) error {
	var messages strings.Builder
	last := &lastError{to: &messages}
	s := streams{in: strings.NewReader(probesOf(r)), out: io.Discard, err: last, isCheck: true}
	if run(context.Background(), kindOf(r.Kind).args(r), s) == exitOK {
		_, err := cacheOf(r).check()
		return err
	}
	if text := last.text(); text != "" {
		return errors.New(text)
	}
	return errors.New(strings.Join(strings.Split(strings.TrimSpace(messages.String()), "\n"), "; ")) // a file of probes has a line for each problem
}

func probesOf(r service.Request) (probes string) {
	_ = json.Unmarshal(r.Options[probesProperty], &probes) // its type is checked before
	return probes
}

// cacheOf returns the options of a request about the cache.
func cacheOf(r service.Request) *cacheFlags {
	var l cacheFlags
	for name, into := range map[string]any{"cache": &l.dir, "cache-share": &l.share, "cache-trust": &l.trust, "no-cache": &l.none} {
		_ = json.Unmarshal(r.Options[name], into) // its type is checked before
	}
	return &l
}

// Run implements service.Runner.
func (h *host) Run(ctx context.Context, look *service.Look, r service.Request) (exit int, why string) {
	defer func() {
		if problem := recover(); problem != nil { // other looks go on
			exit, why = exitError, fmt.Sprintf("internal error: %v", problem)
			_, _ = fmt.Fprintf(look.Messages(), "sonde: %s\n%s", why, debug.Stack())
		}
	}()
	messages := &lastError{to: look.Messages()}
	s := streams{
		in: strings.NewReader(probesOf(r)), out: look.Report(!r.Text), err: messages, width: look.Terminal().Width,
		look: &hostedLook{Look: look, host: h},
	}
	exit = run(ctx, kindOf(r.Kind).args(r), s)
	return exit, messages.text()
}

// close ends the use of caches.
func (h *host) close() {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, opened := range h.caches {
		closeCache(opened)
	}
}

// openCache returns the cache with these options, which stays open as long as the service
// runs, because sessions use it that several looks share.
func (h *host) openCache(o cache.Options, notice func(error)) *cache.Cache {
	h.lock.Lock()
	defer h.lock.Unlock()
	key := fmt.Sprintf("%+v", o)
	if h.caches[key] == nil {
		h.caches[key] = cache.Open(o, notice)
	}
	return h.caches[key]
}

// lastError remembers the error that a command has reported.
type lastError struct {
	to   io.Writer
	lock sync.Mutex
	line string
}

func (l *lastError) Write(text []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if problem, is := strings.CutPrefix(string(text), "sonde: "); is {
		l.line, _, _ = strings.Cut(problem, "\n")
	}
	return l.to.Write(text)
}

func (l *lastError) text() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.line
}

// A hostedLook is the look that a command is, in the service. It is nil if the command runs in
// a process of its own.
type hostedLook struct {
	*service.Look
	host    *host
	isReady sync.Once
}

// sessions returns the sessions that looks share; nil without a service.
func (s streams) sessions() *session.Sessions {
	look := cmp.Or(s.look, s.beside)
	if look == nil {
		return nil
	}
	return &look.host.sessions
}

// reportCost reports to the service what the hooks of a look cost. spent returns how many calls they have
// counted, and what that has cost, in nanoseconds.
func (s streams) reportCost(spent func() (calls uint64, nanos float64)) {
	if s.look == nil {
		return
	}
	const atLeast = time.Second // a shorter time shows nothing, and several clients may ask
	var lock sync.Mutex
	var last *service.Cost
	var lastCalls uint64
	var lastNanos float64
	at := time.Now()
	s.look.SetCost(func() *service.Cost {
		lock.Lock()
		defer lock.Unlock()
		now := time.Now()
		calls, nanos := spent()
		if last != nil && now.Sub(at) < atLeast {
			return &service.Cost{Calls: calls, PerSecond: last.PerSecond, Share: last.Share}
		}
		seconds := now.Sub(at).Seconds()
		last = &service.Cost{
			Calls: calls, PerSecond: float64(calls-min(lastCalls, calls)) / seconds, Share: max(0, nanos-lastNanos) / seconds / 1e9,
		}
		lastCalls, lastNanos, at = calls, nanos, now
		return last
	})
}

// ready says that the command has begun to measure. Only the first call has an effect.
func (s streams) ready() {
	if s.look != nil {
		s.look.isReady.Do(func() { s.look.Emit(service.EventReady, struct{}{}) })
	}
}

// keepResult keeps the result of a look, as text and as a document.
func (s streams) keepResult(d any, writeText func(out io.Writer)) {
	if s.look == nil {
		return
	}
	var text, encoded bytes.Buffer
	writeText(&text)
	s.keepFile("txt", text.Bytes())
	if err := document.Write(&encoded, d); err == nil { // else it could not be written with --json either
		s.keepFile("json", encoded.Bytes())
	}
}

// keepFile keeps the result of a look in one format.
func (s streams) keepFile(format string, data []byte) {
	s.keep(format, func(path string) error { return os.WriteFile(path, data, 0o600) })
}

// keepFiles keeps the result of a look in all formats of its kind.
func keepFiles[T any](s streams, writer report.Writer[T], result T) {
	for _, suffix := range writer.Suffixes() {
		s.keep(strings.TrimPrefix(suffix, "."), func(path string) error { return writer.WriteFile(path, result) })
	}
}

func (s streams) keep(format string, write func(path string) error) {
	if s.look == nil {
		return
	}
	if err := s.look.Keep(format, write); err != nil {
		s.note("the result could not be kept: " + err.Error())
	}
}

// place returns where the service of this user and version is.
func place() service.Place {
	return service.Place{Runtime: os.Getenv("XDG_RUNTIME_DIR"), Temp: "/tmp", Version: shortVersion()}
}

// shortVersion is different for any two programs that may behave differently.
func shortVersion() string {
	text := version()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.modified" && setting.Value == "true" {
				text = "devel"
			}
		}
	}
	if text == "devel" || text == "unknown" {
		if info, err := os.Stat("/proc/self/exe"); err == nil {
			text = fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
		}
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, text)
}

// statePath returns the path of a directory in which results are kept for the user.
func statePath(name string) (string, error) {
	if stated := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(stated) {
		return filepath.Join(stated, "sonde", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "sonde", name), nil
}
