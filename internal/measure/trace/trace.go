// Package trace assembles the records that hooks wrote about single calls into transactions: trees
// of calls with their times, across the threads that worked for them.
//
// Hooks write a record into the ring of their thread when a call exits, so inner calls come
// before outer ones. Rings are read one after the other: the records of another thread may
// be read before or after the transaction's root. The assembler waits for records of other
// threads for a limited time and with limited memory, and counts the records that it drops.
package trace

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Trace is the result of a run.
type Trace struct {
	Target  Target
	Command string   // command line
	Methods []string // patterns of the roots
	// Conditions describe which transactions were selected.
	Conditions   []string
	Levels       int // depth of traced calls below a root
	Began        time.Time
	Took         time.Duration
	Transactions []*Transaction // by start time
	Cost         Cost
	Woven        int // how often a class was woven
	Cached       int // how often it was found in the cache
	Losses       Losses
	Disturbed    string            // says that the program did not run as without Sonde; the first note says it, too
	Disturbance  *cost.Disturbance // nil if nothing is known
	Notes        []string
}

// A Target is the JVM that was traced.
type Target = cct.Target

// Losses count what a trace does not show.
type Losses struct {
	NotChosen    uint64 `json:"notChosen,omitempty"`    // transactions that did not meet the conditions at their end
	Beyond       uint64 `json:"beyond,omitempty"`       // transactions that ended after the requested number was reached
	Dropped      uint64 `json:"dropped,omitempty"`      // calls that were only counted because their ring was full
	Undecided    uint64 `json:"undecided,omitempty"`    // calls whose condition could not be evaluated
	Ambiguous    uint64 `json:"ambiguous,omitempty"`    // tasks whose transaction is unknown
	ContextsLost uint64 `json:"contextsLost,omitempty"` // calls of anchors and tag points that were lost for lack of room
	Counts
}

// Slowest returns the longest transaction; nil if there is none.
func (t *Trace) Slowest() (slowest *Transaction) {
	for _, one := range t.Transactions {
		if slowest == nil || one.Duration > slowest.Duration {
			slowest = one
		}
	}
	return slowest
}

// ID returns the ID of the trace that a transaction belongs to: that of others, or its own. It is the
// same in all output formats.
func ID(t Target, tx *Transaction) [16]byte {
	if tx.Parent.Trace != [16]byte{} {
		return tx.Parent.Trace
	}
	if tx.Sent != [16]byte{} {
		return tx.Sent
	}
	return OwnID(t, tx)
}

// OwnID returns a globally unique ID of a transaction.
func OwnID(t Target, tx *Transaction) (id [16]byte) {
	text := []byte("sonde\x00" + t.Command + "\x00" + strconv.Itoa(t.PID))
	text = binary.BigEndian.AppendUint64(text, uint64(tx.Begin.UnixNano()))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, tx.ID))
	copy(id[:], sum[:])
	return id
}

// SpanID returns the ID of a call by the ID of its transaction and its index in Transaction.All. Several
// transactions may belong to one trace.
func SpanID(transaction [16]byte, place int) (id [8]byte) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(transaction[:], uint64(place)))
	copy(id[:], sum[:])
	return id
}

// A Parent is the span of others in which a transaction began, as the W3C's trace context names it. It is
// zero if there is none.
type Parent struct {
	Trace [16]byte
	Span  [8]byte // zero if only the trace is known
}

// ParseParent parses what hooks record: the ID of a trace, and that of a span after a hyphen if it is known.
func ParseParent(text string) (p Parent, err error) {
	trace, span, hasSpan := strings.Cut(text, "-")
	if err := parseID(p.Trace[:], trace); err != nil {
		return Parent{}, fmt.Errorf("the id of a trace: %w", err)
	}
	if hasSpan {
		if err := parseID(p.Span[:], span); err != nil {
			return Parent{}, fmt.Errorf("the id of a span: %w", err)
		}
	}
	return p, nil
}

// parseID sets an ID, which must not be all zeros.
func parseID(id []byte, text string) error {
	if len(text) != 2*len(id) {
		return fmt.Errorf("it has %d characters, not %d", len(text), 2*len(id))
	}
	if _, err := hex.Decode(id, []byte(text)); err != nil || hex.EncodeToString(id) != text {
		return fmt.Errorf("%q has other characters than the digits 0 to 9 and the letters a to f", text)
	}
	if strings.Trim(text, "0") == "" {
		return errors.New("it is zero")
	}
	return nil
}

// A Transaction is a call of a traced method with the calls it caused on all threads.
type Transaction struct {
	ID     uint64
	Parent Parent
	Sent   [16]byte // the ID of its trace, if it was sent to programs that it has called; zero otherwise
	Root   *Call
	// Parts are the outermost calls of tasks on other threads, by start time. They may end after the
	// root.
	Parts    []*Call
	Begin    time.Time
	Duration time.Duration // of the root
	Tags     map[string]string
	Lost     uint64 // calls for which a ring had no room
	Late     int    // parts that arrived after the transaction had been delivered
}

// A Call is one call of a method.
type Call struct {
	Spot       uint32 `json:"-"`
	Class      string `json:"class,omitempty"` // with dots
	Method     string `json:"method"`
	Descriptor string `json:"descriptor,omitempty"`
	Probe      string `json:"probe,omitempty"`
	Category   string `json:"category,omitempty"` // of an outgoing call, or of a call that answers an incoming one: db, web, messaging
	Incoming   bool   `json:"incoming,omitempty"` // it answers an incoming call
	Target     string `json:"target,omitempty"`   // of such a call: the statement, method and host or path, or destination
	Status     int    `json:"status,omitempty"`   // of the answer to an incoming request
	SpanID     string `json:"spanId,omitempty"`   // of such a call: its name for the program that it calls
	PID        int    `json:"pid,omitempty"`      // of another program, below the call that has caused it
	Thread
	Depth int `json:"-"`

	Start    time.Duration `json:"startNanos"`    // since the start of the transaction
	Measured time.Duration `json:"measuredNanos"` // including the cost of hooks
	Duration time.Duration `json:"durationNanos"` // without the cost of hooks
	Self     time.Duration `json:"selfNanos"`     // Duration without the children on the same thread

	Threw       bool              `json:"threw,omitempty"`
	Cut         bool              `json:"cut,omitempty"`
	Handed      bool              `json:"handed,omitempty"`      // outermost call of a task from another thread
	Conditional bool              `json:"conditional,omitempty"` // its hook acts only in a context or under a condition
	Tags        map[string]string `json:"tags,omitempty"`        // nil if they are the tags of the caller
	Values      []Value           `json:"values,omitempty"`
	Omitted     Omitted           `json:"omitted,omitzero"`   // further calls below it, which were too many to keep
	Folded      []*Folded         `json:"folded,omitempty"`   // further calls by it, of methods of which it has many children
	Children    []*Call           `json:"children,omitempty"` // by start time

	label  uint32
	status int
	start  uint64
	ring   uint32
	gone   Omitted // while it waits: calls of its depth or below that are not kept
	known  bool    // its names are known
}

// Omitted is a number of calls and the time they took.
type Omitted struct {
	Calls uint64        `json:"calls"`
	Time  time.Duration `json:"nanos"`
}

func (o *Omitted) add(other Omitted) {
	o.Calls += other.Calls
	o.Time = plus(o.Time, other.Time)
}

// plus adds two times, up to 146 years: a damaged ring can contain times whose sum is no number.
func plus(a, b time.Duration) time.Duration {
	const most = math.MaxInt64 / 2
	return min(a, most) + min(b, most-min(a, most))
}

// A Folded sums up calls of one method by one call, or by the calls of another Folded. The longest calls of the
// method by one call are children of the call.
type Folded struct {
	Spot       uint32        `json:"-"`
	Class      string        `json:"class,omitempty"` // with dots
	Method     string        `json:"method"`
	Descriptor string        `json:"descriptor,omitempty"`
	Calls      uint64        `json:"calls"`
	Threw      uint64        `json:"threw,omitempty"`
	Measured   time.Duration `json:"measuredNanos"` // including the cost of hooks
	Duration   time.Duration `json:"durationNanos"` // without it
	Self       time.Duration `json:"selfNanos"`     // Duration without the children
	Omitted    Omitted       `json:"omitted,omitzero"`
	Children   []*Folded     `json:"children,omitempty"`
}

// All returns the sum and all sums below it, outer before inner.
func (f *Folded) All() iter.Seq[*Folded] {
	return func(yield func(*Folded) bool) { f.visit(yield) }
}

func (f *Folded) visit(yield func(*Folded) bool) bool {
	return yield(f) && !slices.ContainsFunc(f.Children, func(child *Folded) bool { return !child.visit(yield) })
}

// FoldInto returns the sum of a method in a list, to which it is added if it is not there.
func FoldInto(list *[]*Folded, spot uint32) *Folded {
	for _, f := range *list {
		if f.Spot == spot {
			return f
		}
	}
	f := &Folded{Spot: spot}
	*list = append(*list, f)
	return f
}

// Merge adds another sum of the same method, with its names.
func (f *Folded) Merge(other *Folded) {
	f.Class, f.Method, f.Descriptor = other.Class, other.Method, other.Descriptor
	f.Calls += other.Calls
	f.Threw += other.Threw
	f.Measured = plus(f.Measured, other.Measured)
	f.Duration = plus(f.Duration, other.Duration)
	f.Self = plus(f.Self, other.Self)
	f.Omitted.add(other.Omitted)
	for _, child := range other.Children {
		FoldInto(&f.Children, child.Spot).Merge(child)
	}
}

// A Thread is the thread of a call.
type Thread struct {
	ID   uint64 `json:"thread"`
	Name string `json:"threadName,omitempty"` // empty if unknown, for example of a thread that has ended
}

// String returns the name of a thread, or its id where it has none.
func (t Thread) String() string {
	return cmp.Or(t.Name, fmt.Sprintf("thread %d", t.ID))
}

// NameThreads sets the names of threads.
func (t *Transaction) NameThreads(names map[uint64]string) {
	for c := range t.All() {
		if name, known := names[c.Thread.ID]; known {
			c.Thread.Name = name
		}
	}
}

// A Value is the value of an expression at the entry or exit of a call.
type Value struct {
	Index      int    `json:"-"` // with probes.ExitCapture if AtExit
	Expression string `json:"expression"`
	Text       string `json:"text,omitempty"`
	AtExit     bool   `json:"atExit,omitempty"`
	Null       bool   `json:"null,omitempty"`
	Failed     bool   `json:"failed,omitempty"`   // the expression threw an exception
	Cut        bool   `json:"cut,omitempty"`      // Text is truncated
	Redacted   bool   `json:"redacted,omitempty"` // it was not evaluated, or parts of Text were removed

	raw string // as recorded; becomes Text when the capture is known
}

// Name returns the class and method.
func (c *Call) Name() string {
	if c.Class == "" {
		return c.Method
	}
	return c.Class + "." + c.Method
}

// All returns the call and all calls below it, outer before inner.
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

// All returns the calls of the root, then the calls of each part.
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

// Extent returns the time from the start of the root to the end of the last call.
func (t *Transaction) Extent() time.Duration {
	extent := t.Root.Measured
	for c := range t.All() {
		if c.Handed { // others end before their callers do
			extent = max(extent, c.Start+c.Measured)
		}
	}
	return extent
}

// Calls returns the number of calls, including omitted ones, and how many of the others ended with
// an exception.
func (t *Transaction) Calls() (calls, errors uint64) {
	for c := range t.All() {
		calls += 1 + c.Omitted.Calls
		if c.Threw {
			errors++
		}
		for _, f := range c.Folded {
			for one := range f.All() {
				calls += one.Calls + one.Omitted.Calls
				errors += one.Threw
			}
		}
	}
	return calls, errors
}

// gatherTags sets the transaction's tags: those of the root, and others from the first call that has
// them.
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

// Resolve sets names and tags. It reports whether all were known, and may be called again: names may
// become known later than the records.
func (t *Transaction) Resolve(names *liveprobes.Names, redact *Redactor) bool {
	known := t.Root.resolve(names, redact, nil, nil)
	for _, part := range t.Parts {
		known = part.resolve(names, redact, nil, nil) && known
	}
	t.gatherTags()
	return known
}

// resolve sets the names of a call and of the calls below it; around are the tags of its caller, which is nil for an
// outermost call.
func (c *Call) resolve(names *liveprobes.Names, redact *Redactor, caller *Call, around map[string]string) bool {
	if !c.known {
		c.resolveSpot(names, redact)
	}
	label, has := names.Labels[c.label]
	// A label for which the agent had no room is known to have no tags.
	has = has || c.label == 0 || c.label == arena.LabelOther
	tags := around
	if caller == nil || caller.label != c.label { // redacting takes long
		tags = nil
		for _, tag := range label.Tags {
			if categories.IsTarget(tag.Name) {
				continue
			}
			if tags == nil {
				tags = make(map[string]string, len(label.Tags))
			}
			tags[tag.Name], _ = redact.Text(tag.String())
		}
		if has && !maps.Equal(tags, around) {
			c.Tags = tags
		}
	}
	switch spot := names.Spots[c.Spot]; {
	case !spot.Answers && c.Category != "":
		c.Target = targetOf(spot.GroupBy, label.Tags, redact)
	case spot.Answers && caller == nil && !c.Handed: // inner calls are filters and servlets of the same request
		c.answer(spot.Category, label.Tags, redact)
	}
	whole := c.known && has
	for _, folded := range c.Folded {
		for f := range folded.All() {
			spot, found := names.Spots[f.Spot]
			f.Class, f.Method, f.Descriptor = strings.ReplaceAll(spot.Class, "/", "."), spot.Name, spot.Descriptor
			if !found {
				f.Method = unnamed(f.Spot)
			}
			whole = whole && found
		}
	}
	for _, child := range c.Children {
		whole = child.resolve(names, redact, c, tags) && whole
	}
	return whole
}

// answer sets what a call answers, if that is known: the handlers of some libraries can have other work, too.
func (c *Call) answer(category string, tags []results.TagValue, redact *Redactor) {
	var known []string
	for _, tag := range tags {
		if categories.Answered(tag.Name) == category {
			known = append(known, tag.Name)
		}
	}
	slices.Sort(known) // the method of a request is before its path
	if c.Target = targetOf(known, tags, redact); c.Target != "" {
		c.Category, c.Incoming, c.Status = category, true, max(0, c.status)
	}
}

// targetOf returns what tags say about the call that goes out of the program, or came in.
func targetOf(names []string, tags []results.TagValue, redact *Redactor) string {
	var texts []string
	for _, name := range names {
		for _, tag := range tags {
			if tag.Set && !tag.Null && tag.Name == name {
				text, _ := redact.Text(tag.String())
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, " ")
}

// unnamed names a method of which only the hook is known.
func unnamed(spot uint32) string { return fmt.Sprintf("#%d", spot) }

func (c *Call) resolveSpot(names *liveprobes.Names, redact *Redactor) {
	spot, found := names.Spots[c.Spot]
	if !found {
		c.Method = unnamed(c.Spot)
		return
	}
	c.Class, c.Method, c.Descriptor = strings.ReplaceAll(spot.Class, "/", "."), spot.Name, spot.Descriptor
	c.Probe, c.Conditional, c.known = spot.Probe, spot.Conditional, true
	if !spot.Answers {
		c.Category = spot.Category
	}
	// Hooks record all values they have room for, also those without a capture.
	recorded := make(map[int]Value, len(c.Values))
	for _, v := range c.Values {
		recorded[v.Index] = v
	}
	c.Values = nil
	for _, capture := range spot.Captures {
		value, is := recorded[capture.Index]
		switch {
		case capture.Redacted: // it was not evaluated
			value = Value{Index: capture.Index, AtExit: capture.Index&probes.ExitCapture != 0, Redacted: true}
		case !is:
			continue
		default:
			value.Text, value.Redacted = redact.Text(value.raw)
		}
		if value.Expression = capture.Text; capture.Text == categories.StatusName && spot.Answers {
			c.status, _ = strconv.Atoi(value.raw) // 0 if it failed
			continue
		}
		c.Values = append(c.Values, value)
	}
	slices.SortFunc(c.Values, func(a, b Value) int { return cmp.Compare(a.Index, b.Index) })
}

// A Redactor removes secrets from texts: values of names such as password, and text that looks like
// a credential. Captures with the name of a secret are not evaluated at all; a Redactor is for texts
// that contain secrets, such as query strings.
type Redactor struct {
	secrets []*regexp.Regexp // the last group of each is a secret
}

// Mask replaces a secret.
const Mask = "(redacted)"

// mostInside is how many secrets are looked for inside another one.
const mostInside = 16

// secretNames are names of secrets, also as part of longer names; each - matches a hyphen, an
// underscore, or nothing.
var secretNames = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "api-key", "access-key", "private-key", "authorization",
	"cookie", "session-id", "jsessionid", "card-number", "cvv", "cvc", "ssn", "iban", "pin-code", "one-time-code",
}

var (
	// bearer matches an HTTP credential, address a user and password in a URL, signed a JSON web token.
	bearer  = regexp.MustCompile(`(?i)\bbearer[ \t]+([A-Za-z0-9+/_.~=-]{6,})`)
	address = regexp.MustCompile(`://[^/\s:@]*:([^/\s@]+)@`)
	signed  = regexp.MustCompile(`\b(eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*)`)
)

// NewRedactor returns a redactor that keeps the values of allowed names.
func NewRedactor(allow []string) *Redactor {
	r := &Redactor{secrets: []*regexp.Regexp{bearer, address, signed}}
	var names []string
	for _, name := range secretNames {
		if !slices.ContainsFunc(allow, func(a string) bool { return plain(a) == plain(name) }) {
			names = append(names, strings.ReplaceAll(regexp.QuoteMeta(name), "-", "[-_]?"))
		}
	}
	if len(names) > 0 {
		// A name, an assignment sign and the value: in quotes, or up to a delimiter of query strings,
		// JSON, properties or toString().
		r.secrets = append(r.secrets, regexp.MustCompile(`(?i)[\w.-]*(?:`+strings.Join(names, "|")+`)[\w.-]*["']?\s*(?:=>|[=:])\s*((?:(?:bearer|basic|digest)\s+)?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&})\]]+))`))
	}
	return r
}

func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// Text returns a text without secrets, and whether it had any. A nil Redactor removes nothing.
func (r *Redactor) Text(text string) (string, bool) {
	if r == nil || text == "" {
		return text, false
	}
	var found [][2]int
	for _, secret := range r.secrets {
		end, inside := 0, 0
		for at := 0; at < len(text); {
			groups := secret.FindStringSubmatchIndex(text[at:])
			if groups == nil {
				break
			}
			from, to := at+groups[2], at+groups[3]
			if text[from:to] != Mask[:len(Mask)-1] { // a value ends before a parenthesis
				found = append(found, [2]int{from, to})
			}
			// What looks like a value may be the name of the next one. The bound keeps the time linear.
			if inside++; to > end {
				end, inside = to, 0
			}
			if at = from; groups[2] == 0 || inside == mostInside {
				at = end
			}
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var clean strings.Builder
	end := 0
	for i, f := range found {
		if i == 0 || f[0] > end {
			clean.WriteString(text[end:f[0]])
			clean.WriteString(Mask)
		}
		end = max(end, f[1])
	}
	clean.WriteString(text[end:])
	return clean.String(), clean.String() != text
}
