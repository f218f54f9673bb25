// Package trace assembles the records that hooks wrote about single calls into
// transactions: trees of calls in time, across the threads that worked for them.
//
// Hooks write a record when a call exits, so inner calls come before outer ones, into a
// ring for each thread. Rings are read one after the other: the records of another thread
// may be read before or after the transaction's root. The assembler waits for them for a
// bounded time with bounded memory, and counts what it gives up.
package trace

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Trace is what a run found, and how.
type Trace struct {
	Target  Target
	Command string   // who asked
	Methods []string // patterns of the roots
	// Conditions say in words which transactions were chosen.
	Conditions []string
	Levels     int // how far below a root calls are traced
	Began      time.Time
	Took       time.Duration
	// Transactions are those kept, by their beginnings.
	Transactions []*Transaction
	Cost         Cost
	Woven        int // how often a class was woven
	Cached       int // how often it had been before, and was in the cache
	Losses       Losses
	Notes        []string
}

// A Target is the JVM that was traced.
type Target struct {
	PID     int
	Command string
	JDK     string
}

// Losses are what a trace does not show.
type Losses struct {
	Counts
	// NotChosen are transactions whose verdict at the end was no.
	NotChosen uint64
	// Dropped are calls that found no room in a ring and were only counted.
	Dropped uint64
	// Undecided are calls whose condition met an exception.
	Undecided uint64
	// Ambiguous are tasks handed over so that whose they are is not known.
	Ambiguous uint64
	// ContextsLost are calls of anchors and tag points that found no room.
	ContextsLost uint64
	// Beyond are transactions that ended when as many as wanted were there.
	Beyond uint64
	// Early are transactions that were not kept because they began before the JVM had
	// compiled again what has hooks.
	Early uint64
}

// Slowest is the transaction that took longest, nil where there is none.
func (t *Trace) Slowest() (slowest *Transaction) {
	for _, one := range t.Transactions {
		if slowest == nil || one.Duration > slowest.Duration {
			slowest = one
		}
	}
	return slowest
}

// TraceID names a transaction among all that were ever traced. It is the same
// whenever and however the transaction is written.
func (t *Target) TraceID(tx *Transaction) (id [16]byte) {
	text := []byte("sonde\x00" + t.Command + "\x00" + strconv.Itoa(t.PID))
	text = binary.BigEndian.AppendUint64(text, uint64(tx.Begin.UnixNano()))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, tx.ID))
	copy(id[:], sum[:])
	return id
}

// SpanID names a call of a transaction, by its place in Transaction.All.
func SpanID(trace [16]byte, place int) (id [8]byte) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(trace[:], uint64(place)))
	copy(id[:], sum[:])
	return id
}

// A Spot is what is known of a hook by its number.
type Spot struct {
	Class, Method, Descriptor string
	Probe                     string
	// Conditional is set where the hook acts only in a context or under a condition.
	Conditional bool
	Captures    []Capture
}

// A Capture is an expression whose value hooks write.
type Capture struct {
	Index      int
	AtExit     bool
	Expression string
	Redacted   bool // it is named for a secret, and never read
}

// Names say what numbers mean. Answers may come later than the records do.
type Names interface {
	Spot(id uint32) (Spot, bool)
	Tags(label uint32) (map[string]string, bool)
}

// A Transaction is what happened from the entry of a traced method to its exit, on
// all threads that worked for it.
type Transaction struct {
	ID   uint64
	Root *Call
	// Parts are the outermost calls of what was handed to other threads, in the
	// order of their beginnings. They may outlast the root.
	Parts    []*Call
	Begin    time.Time
	Duration time.Duration // the root's
	Tags     map[string]string
	// Lost is how many of its calls found no room in a ring.
	Lost uint64
	// Late is how many of Parts came when the transaction had been handed out.
	Late int
}

// A Call is one call of a method.
type Call struct {
	Spot       uint32
	Class      string // with dots
	Method     string
	Descriptor string
	Probe      string
	Thread     Thread
	Depth      int

	Start    time.Duration // since the transaction's beginning
	Measured time.Duration // as the clock had it, with what hooks took in it
	Duration time.Duration // without that
	Self     time.Duration // without its children's on the same thread, too

	Threw, Cut  bool
	Handed      bool // outermost of what was handed to this thread
	Conditional bool // its hook acts in a context, or under a condition
	Values      []Value
	Tags        map[string]string // where they differ from those of the call around it
	Children    []*Call           // in the order of their beginnings
	// Omitted are further calls below it that were too many to keep each.
	Omitted Omitted

	label uint32
	start uint64
	ring  uint32
	gone  Omitted // while it waits: calls of its depth, or below it, that are not kept each
	known bool    // its names are
}

// Omitted is a number of calls and the time they took.
type Omitted struct {
	Calls uint64
	Time  time.Duration
}

// A Thread is who made a call.
type Thread struct {
	ID   uint64
	Name string // empty where it is not known, as of threads that have ended
}

// NameThreads gives threads their names.
func (t *Transaction) NameThreads(names map[uint64]string) {
	for c := range t.All() {
		if name, known := names[c.Thread.ID]; known {
			c.Thread.Name = name
		}
	}
}

// A Value is what an expression gave at the entry or exit of a call.
type Value struct {
	Index      int
	AtExit     bool
	Expression string
	Text       string
	Null       bool
	Failed     bool // it met an exception
	Cut        bool // it was longer
	Redacted   bool // it was not read, or some of Text was taken out

	// raw is what the hook wrote. It becomes Text when it is known what it is of.
	raw string
}

// Name is the call's class and method.
func (c *Call) Name() string {
	if c.Class == "" {
		return c.Method
	}
	return c.Class + "." + c.Method
}

// All are the call and all below it, outer before inner.
func (c *Call) All() iter.Seq[*Call] {
	return func(yield func(*Call) bool) { c.visit(yield) }
}

func (c *Call) visit(yield func(*Call) bool) bool {
	if !yield(c) {
		return false
	}
	for _, child := range c.Children {
		if !child.visit(yield) {
			return false
		}
	}
	return true
}

// All are the transaction's calls: those of the root, then those of each part.
func (t *Transaction) All() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		if !t.Root.visit(yield) {
			return
		}
		for _, part := range t.Parts {
			if !part.visit(yield) {
				return
			}
		}
	}
}

// Extent is the time from the beginning to the end of what ended last.
func (t *Transaction) Extent() time.Duration {
	extent := t.Root.Measured
	for _, part := range t.Parts {
		extent = max(extent, part.Start+part.Measured)
	}
	return extent
}

// Calls is how many calls it has, those that were not kept each included, and how
// many of those kept ended with an exception.
func (t *Transaction) Calls() (calls, errors uint64) {
	for c := range t.All() {
		calls += 1 + c.Omitted.Calls
		if c.Threw {
			errors++
		}
	}
	return calls, errors
}

// gatherTags takes as the transaction's tags those of the root, and of calls below
// what the root has not: the first that has it.
func (t *Transaction) gatherTags() {
	gathered := maps.Clone(t.Root.Tags)
	for c := range t.All() {
		for name, value := range c.Tags {
			if _, has := gathered[name]; !has {
				if gathered == nil {
					gathered = map[string]string{}
				}
				gathered[name] = value
			}
		}
	}
	t.Tags = gathered
}

// Resolve names what has numbers only. It may be called again, when more is known, and
// tells whether all is.
func (t *Transaction) Resolve(names Names, redact *Redactor) bool {
	known := t.Root.resolve(names, redact, nil)
	for _, part := range t.Parts {
		known = part.resolve(names, redact, nil) && known
	}
	t.gatherTags()
	return known
}

// resolve names a call and those below it; around are the tags of the call around it.
func (c *Call) resolve(names Names, redact *Redactor, around map[string]string) bool {
	whole := c.known
	if !c.known {
		whole = c.resolveSpot(names, redact)
	}
	tags, has := map[string]string(nil), c.label == 0
	if c.label != 0 && names != nil {
		tags, has = names.Tags(c.label)
	}
	if tags = redact.tags(tags); has && !maps.Equal(tags, around) {
		c.Tags = tags
	}
	whole = whole && has
	for _, child := range c.Children {
		whole = child.resolve(names, redact, tags) && whole
	}
	return whole
}

func (c *Call) resolveSpot(names Names, redact *Redactor) bool {
	c.Method = fmt.Sprintf("#%d", c.Spot)
	if names == nil {
		return false
	}
	spot, found := names.Spot(c.Spot)
	if !found {
		return false
	}
	c.Class, c.Method, c.Descriptor = strings.ReplaceAll(spot.Class, "/", "."), spot.Method, spot.Descriptor
	c.Probe, c.Conditional, c.known = spot.Probe, spot.Conditional, true
	// Templates write all that they have room for, whether somebody asked for it or not.
	c.Values = slices.DeleteFunc(c.Values, func(v Value) bool {
		return !slices.ContainsFunc(spot.Captures, func(capture Capture) bool { return capture.is(v) })
	})
	for i := range c.Values {
		c.Values[i].name(spot.Captures, redact)
	}
	for _, capture := range spot.Captures {
		if capture.Redacted && !slices.ContainsFunc(c.Values, capture.is) {
			c.Values = append(c.Values, Value{Index: capture.Index, AtExit: capture.AtExit, Expression: capture.Expression, Redacted: true})
		}
	}
	slices.SortStableFunc(c.Values, func(a, b Value) int {
		return cmp.Or(compareBools(a.AtExit, b.AtExit), cmp.Compare(a.Index, b.Index))
	})
	return true
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// name says what a value is of.
func (v *Value) name(captures []Capture, redact *Redactor) {
	at := slices.IndexFunc(captures, func(c Capture) bool { return c.is(*v) })
	v.Expression, v.Redacted = captures[at].Expression, captures[at].Redacted
	if v.Redacted {
		v.Null, v.Failed, v.Cut = false, false, false // it was not read
		return
	}
	v.Text, v.Redacted = redact.Text(v.raw)
}

// is tells whether a value is of this expression.
func (c Capture) is(v Value) bool { return c.Index == v.Index && c.AtExit == v.AtExit }

// A Redactor takes secrets out of texts: what stands behind a name such as password,
// and what looks like a credential by itself. Captures that are named for a secret
// are not even read; this is for texts that contain one, such as a query string.
type Redactor struct {
	named *regexp.Regexp // nil where every name is allowed
}

// Mask stands where a secret was.
const Mask = "(redacted)"

// secretNames are what secrets are called, as they are found inside longer names too;
// each - may be a hyphen, an underscore, or nothing.
var secretNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "api-key", "access-key", "private-key", "authorization",
	"cookie", "session-id", "jsessionid", "card-number", "cvv", "cvc", "ssn", "iban", "pin-code", "one-time-code",
}

var (
	// bearer is a credential as HTTP has it; address a user and password in a URL;
	// signed three parts of base64 as JSON web tokens are.
	bearer  = regexp.MustCompile(`(?i)\b(bearer)[ \t]+([A-Za-z0-9+/_.~=-]{6,})`)
	address = regexp.MustCompile(`(://[^/\s:@]*):([^/\s@]+)@`)
	signed  = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`)
)

// NewRedactor lets through what is named as allowed.
func NewRedactor(allow []string) *Redactor {
	r := &Redactor{}
	var names []string
	for _, name := range secretNames {
		if !slices.ContainsFunc(allow, func(a string) bool { return plain(a) == plain(name) }) {
			names = append(names, strings.ReplaceAll(regexp.QuoteMeta(name), "-", "[-_]?"))
		}
	}
	if len(names) > 0 {
		// A name, a sign that gives it a value, and the value: in quotes, or up to
		// where a value ends in query strings, JSON, properties and toString().
		r.named = regexp.MustCompile(`(?i)([\w.-]*(?:` + strings.Join(names, "|") + `)[\w.-]*["']?\s*(?:=>|[=:])\s*)((?:(?:bearer|basic|digest)\s+)?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&})\]]+))`)
	}
	return r
}

func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// Text is a text without secrets, and whether it had any. A nil Redactor gives texts
// back as they are.
func (r *Redactor) Text(text string) (string, bool) {
	if r == nil || text == "" {
		return text, false
	}
	clean := text
	if r.named != nil {
		clean = r.named.ReplaceAllStringFunc(clean, r.mask)
	}
	clean = bearer.ReplaceAllString(clean, "$1 "+Mask)
	clean = signed.ReplaceAllLiteralString(clean, Mask)
	clean = address.ReplaceAllString(clean, "$1:"+Mask+"@")
	return clean, clean != text
}

// mask keeps a name and its sign.
func (r *Redactor) mask(found string) string {
	parts := r.named.FindStringSubmatch(found)
	if strings.HasPrefix(parts[2], Mask[:len(Mask)-1]) { // a value ends before a parenthesis
		return found
	}
	return parts[1] + Mask
}

// tags are tags with clean values.
func (r *Redactor) tags(tags map[string]string) map[string]string {
	if r == nil || len(tags) == 0 {
		return tags
	}
	clean := make(map[string]string, len(tags))
	for name, value := range tags {
		clean[name], _ = r.Text(value)
	}
	return clean
}
