package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// contextFlags are the flags that say where and when a probe acts.
type contextFlags struct {
	within  []string
	when    string
	tags    []string
	context int
	byTag   []string
	handOff bool
}

// A flagSet is where flags are told; that of a command is one.
type flagSet interface {
	StringVar(p *string, name, value, usage string)
	StringArrayVar(p *[]string, name string, value []string, usage string)
	StringSliceVar(p *[]string, name string, value []string, usage string)
	IntVar(p *int, name string, value int, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
}

func (f *contextFlags) register(flags flagSet) {
	flags.StringArrayVar(&f.within, "within", nil, "`SEQUENCE` of methods that must be on the stack; given again: another context with results of its own")
	flags.StringVar(&f.when, "when", "", "`CONDITION` on the call, such as '$1.total > 100'")
	flags.StringArrayVar(&f.tags, "tag", nil, "`NAME=EXPR [at METHOD]`: everything below has the value as tx.NAME")
	flags.IntVar(&f.context, "context", 0, "tell results apart by so many callers, up to 8")
	flags.StringArrayVar(&f.byTag, "by-tag", nil, "tell results apart by the values of the tag of this `NAME`")
	flags.BoolVar(&f.handOff, "hand-off", true, "contexts and tags go along with tasks to other threads")
}

// contextLong is what help texts say of the flags.
const contextLong = `Where and when
  --within 'Web.handle >> Order.* > Pay.charge'
           only calls below those methods, in that order, outermost first: >> is
           somewhere below, > directly; so is a > at the end. Reflection and
           methods made by the compiler do not count as callers; a constructor
           does from behind its super(...) on. Where only a > decides, each call
           costs some microseconds. Given several times, each context has results
           of its own
  --when   only calls for which the condition holds: $1 is the first argument,
           $name one by its name, $this; at the exit $return, $exception,
           $elapsed; fields, getters that only read, [0] and ["key"], .length;
           == != < <= > >= && || ! in ("a", "b") is com.acme.Order, and matches
           "o*?" (* and ? only); where something is null a comparison is false.
           A condition that fails counts as undecided
  --tag    'tier=$1.customer.tier at com.acme.Web.handle' gives all that is called
           by handle, in other threads too, a value: tx.tier in conditions, and
           --by-tag tier has results for each. Of a long value 256 characters are
           kept. Without "at" it is set at the first method of --within, or else
           at the methods themselves
  --context 3
           results by the last three callers; each call costs some microseconds`

// isUsed reports whether any of the flags was given.
func (f *contextFlags) isUsed() bool {
	return len(f.within) > 0 || f.when != "" || len(f.tags) > 0 || f.context != 0 || len(f.byTag) > 0
}

// probeName is that of the one probe a command line makes.
const probeName = "methods"

// set is what the flags ask for: one probe, and tags. What is wrong is a usage error.
func (f *contextFlags) set(methods []string) (*probeset.Set, error) {
	set := &probeset.Set{
		HandOff: f.handOff && (len(f.within) > 0 || len(f.tags) > 0),
		Probes: []probeset.Probe{{
			Name: probeName, Methods: methods, Within: f.within, When: f.when, Context: f.context, GroupBy: f.byTag, Level: probeset.Time,
		}},
	}
	if f.context < 0 || f.context > mostContext {
		return nil, usage("--context must be from 1 to %d", mostContext)
	}
	if f.context > 0 && len(f.byTag) > 0 {
		return nil, usage("--context and --by-tag cannot be had at once: results are told apart by one of them")
	}
	for _, text := range f.within {
		if _, err := pattern.ParseSequence(text); err != nil {
			return nil, usage("--within: %w", err)
		}
	}
	if f.when != "" {
		if _, err := expr.Parse(f.when); err != nil {
			return nil, usage("--when: %w", err)
		}
	}
	for _, text := range f.tags {
		tags, err := f.readTag(text, methods)
		if err != nil {
			return nil, err
		}
		set.Tags = append(set.Tags, tags...)
	}
	for _, name := range f.byTag {
		if !hasTag(set, name) {
			return nil, usage("--by-tag %s: no --tag %s=… says what that is", name, name)
		}
	}
	if err := set.Check(); err != nil {
		return nil, &usageError{err}
	}
	return set, nil
}

// mostContext is how many callers a hook looks for.
const mostContext = 8

func hasTag(set *probeset.Set, name string) bool {
	for _, tag := range set.Tags {
		if tag.Name == name {
			return true
		}
	}
	return false
}

// readTag reads NAME=EXPR [at METHOD]. Without a method a tag is set where the context
// begins.
func (f *contextFlags) readTag(text string, methods []string) ([]probeset.Tag, error) {
	name, value, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !found || name == "" {
		return nil, usage("--tag %q: write NAME=EXPR, such as 'tier=$1.customer.tier at com.acme.Web.handle'", text)
	}
	var at []string
	if cut := tagPlace(value); cut >= 0 {
		at = []string{strings.TrimSpace(value[cut+len(tagAt):])}
		value = value[:cut]
	} else if at = f.defaultPlace(methods); len(at) == 0 {
		return nil, usage("--tag %s: say where it is set: 'NAME=EXPR at METHOD'", name)
	}
	value = strings.TrimSpace(value)
	if _, err := expr.Parse(value); err != nil {
		return nil, usage("--tag %s: %w", name, err)
	}
	var tags []probeset.Tag
	for _, place := range at {
		tags = append(tags, probeset.Tag{Name: name, Value: value, At: place})
	}
	return tags, nil
}

const tagAt = " at "

// tagPlace is where " at METHOD" begins, outside texts; -1 where it does not.
func tagPlace(value string) int {
	quoted := byte(0)
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted != 0 && c == '\\':
			i++
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case strings.HasPrefix(value[i:], tagAt):
			return i
		}
	}
	return -1
}

// defaultPlace are the methods at which tags are set that do not say where.
func (f *contextFlags) defaultPlace(methods []string) (places []string) {
	for _, text := range f.within {
		s, err := pattern.ParseSequence(text)
		if err != nil {
			continue // it was read before
		}
		if first := s.Elements[0].Pattern.String(); !slices.Contains(places, first) {
			places = append(places, first)
		}
	}
	if len(f.within) > 0 {
		return places
	}
	for _, method := range methods {
		if !strings.HasPrefix(method, "!") && !slices.Contains(places, method) {
			places = append(places, method)
		}
	}
	return places
}

// caret returns the text of a pattern, a sequence or an expression with carets below the
// error in it, or "" for other errors.
func caret(err error) string {
	var pointed interface{ Caret() string }
	if !errors.As(err, &pointed) {
		return ""
	}
	return "  " + strings.ReplaceAll(pointed.Caret(), "\n", "\n  ") + "\n"
}

// sourceFlags choose where samples come from.
type sourceFlags struct {
	recorder, dumps bool
}

func (f *sourceFlags) register(flags flagSet) {
	flags.BoolVar(&f.recorder, "recorder", false, "sample by the flight recorder also before JDK 21, where starting it discards all compiled code")
	flags.BoolVar(&f.dumps, "thread-dumps", false, "sample by thread dumps also where there is a flight recorder")
}

func (f *sourceFlags) choose() (sampler.Source, error) {
	switch {
	case f.recorder && f.dumps:
		return 0, usage("--recorder and --thread-dumps exclude one another")
	case f.recorder:
		return sampler.FlightRecorder, nil
	case f.dumps:
		return sampler.ThreadDumps, nil
	}
	return sampler.Undisturbed, nil
}

// cacheVariable says where woven classes are kept, where no flag does: a directory, or
// off.
const cacheVariable = "SONDE_CACHE"

const cacheOff = "off"

// liveCache is what commands that put hooks into a JVM are told of the cache.
type liveCache struct {
	cachePlace
	share string
	none  bool
}

func (l *liveCache) register(flags flagSet) {
	l.addFlags(flags)
	flags.StringVar(&l.share, "cache-share", "", "who else may read what is kept from now on: `group` or everyone")
	flags.BoolVar(&l.none, "no-cache", false, "weave every class again, and keep none")
}

// args are the flags that say the same to another Sonde.
func (l *liveCache) args() (args []string) {
	if l.none {
		args = append(args, "--no-cache")
	}
	if l.dir != "" {
		args = append(args, "--cache", l.dir)
	}
	if l.share != "" {
		args = append(args, "--cache-share", l.share)
	}
	for _, user := range l.trust {
		args = append(args, "--cache-trust", user)
	}
	return args
}

// openCache opens the cache; nil where none is wanted. What is the matter with it is
// told, and then it is done without. The function that ends its use is called when the
// hooks are out: what was woven last may still be on its way to the disk.
func (l *liveCache) openCache(tell func(string)) (*cache.Cache, func(), error) {
	if l.none && l.dir != "" {
		return nil, nil, usage("--cache and --no-cache cannot be had at once")
	}
	o, err := l.options()
	if err != nil {
		return nil, nil, err
	}
	if o.Sharing, err = cache.ParseSharing(l.share); err != nil {
		return nil, nil, usage("--cache-share: %w", err)
	}
	if l.none || l.dir == "" && os.Getenv(cacheVariable) == cacheOff {
		return nil, func() {}, nil
	}
	opened := cache.Open(o, func(err error) { tell(format.OneLine(err)) })
	return opened, func() {
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = opened.Close(ctx) // a cache may lose what it will
	}, nil
}

// wovenText tells how many classes were woven and how many were found so, where there
// is a cache.
func wovenText(woven, cached int, hasCache bool) string {
	if !hasCache {
		return ""
	}
	return fmt.Sprintf(" (%s woven, %s from the cache)", format.Grouped(woven), format.Grouped(cached))
}

func sessionWovenText(s *session.Session) string {
	w := s.Weavings()
	return wovenText(w.Woven, w.Cached, s.HasCache())
}
