package instrument

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A SpotKind is the purpose of a spot.
type SpotKind uint8

// The kinds of spots.
const (
	Watches   SpotKind = iota // measures calls
	Tags                      // gives a tag of the transaction its value
	Anchors                   // marks calls as elements of sequences
	Keeps                     // remembers the value of a tag for the object that the method returns
	Templates                 // runs a template that a user has written
	Records                   // holds what such a template records under a name; it weaves nothing
)

// rank orders the spots around a method, outermost first: a watch sees the tags that are
// set at its own method, and the path before that method was entered.
func (k SpotKind) rank() int {
	switch k {
	case Tags, Keeps:
		return 0
	case Templates: // it may set tags, and its time is not that of the method
		return 1
	case Watches:
		return 2
	}
	return 3
}

// A Form is the template that watches a method.
type Form uint8

// The forms of spots of kind Watches. Each includes what those before it have.
const (
	Plain     Form = iota // condition 0 at entry
	Late                  // condition 1 at exit
	Capturing             // values 2 to 5 at entry, 6 to 9 at a return
)

// Numbers of the first values in the code of a capturing spot.
const (
	FirstAtEntry = 2
	FirstAtExit  = FirstAtEntry + arena.WatchValues
	codeLength   = FirstAtExit + arena.WatchValues
)

// A Spot is one purpose of one method. Each has its own id, switch and hook, so a method
// may have several.
type Spot struct {
	classfile.MethodRef
	// Key distinguishes the spots of a method. The same spot has the same key in every
	// run, since its id is derived from it.
	Key  string
	Kind SpotKind
	Form Form
	// Code holds conditions and values by the numbers of the template. Where one is nil or
	// missing, a condition always holds and a value is null. Tags and Keeps have one, number
	// 0: the value. Templates have at most one: the condition at entry.
	Code   []weave.Lowered
	Flags  arena.Flags
	Period uint32
	// Anchors: the positions that this method matches, by how they are reached. Watches:
	// Below or Direct must contain one of the current positions; 0 asks for none.
	Below, Direct, First uint32
	Outside              uint32 // Watches: none of the current positions may be among these
	Fails                bool   // Watches: the condition at the exit says which calls have failed, not which count
	Queued               bool   // Watches: calls are tasks, whose time in a queue is measured
	Tag                  int    // Tags: the number of the tag
	Groups               uint16 // Watches: the tags by which results are grouped
	Context              uint8  // Watches: how many callers results are grouped by
	User                 *User  // Templates: the template
	Quota                uint16 // Watches: the number of the quota from which calls are taken (see arena.MakeQuota); Templates: they run while it has some left; 0 for none
}

// A User is a template that a user has written.
type User struct {
	*weave.UserTemplate
	Tags    []int32 // the numbers of the tags that it sets, by record
	class   []byte
	method  string
	options weave.UserOptions
}

// NewUser compiles the class file of a user's template, whose code calls the agent's hooks.
func NewUser(class []byte, method string, o weave.UserOptions) (*User, error) {
	o.Hooks = RecordsClass()
	u := &User{class: class, method: method, options: o}
	var err error
	if u.UserTemplate, err = weave.CompileUser(class, method, u.options); err != nil {
		return nil, err
	}
	u.Tags = make([]int32, len(u.Records))
	return u, nil
}

// Hash identifies the template.
func (u *User) Hash() string {
	sum := sha256.Sum256(append(fmt.Appendf(nil, "%s %t ", u.method, u.options.Trusted), u.class...))
	return hex.EncodeToString(sum[:8])
}

// RecordsClass returns the internal name of the agent's class that templates of users call.
func RecordsClass() string { return agent.HookClass() + "Record" }

// RecordKey returns the key of the spot that holds a record of a template.
func RecordKey(template, record string) string { return template + "|record " + record }

// userTemplate returns the template of a spot, with the ids of its records.
func (w *Weaver) userTemplate(p *Spot) (template *weave.Template, reason string) {
	compiled := p.User.UserTemplate
	if w.settings.Beside {
		options := p.User.options
		options.Hooks = agent.Beside(options.Hooks)
		var err error
		if compiled, err = weave.CompileUser(p.User.class, p.User.method, options); err != nil {
			return nil, err.Error()
		}
	}
	numbers := slices.Clone(p.User.Tags)
	for i, record := range p.User.Records {
		if record.Kind != weave.Tag {
			numbers[i] = int32(w.SpotID(Spot{MethodRef: p.MethodRef, Key: RecordKey(p.Key, record.Name)}))
		}
	}
	if template = compiled.Recording(numbers); !p.User.options.Conditional {
		return template, ""
	}
	bound, err := template.Bind(p.Code...)
	if err != nil {
		reason, _, _ = strings.Cut(err.Error(), "\n")
		return nil, reason
	}
	return bound, ""
}

// Measures reports whether there are results of a spot.
func (p *Spot) Measures() bool { return p.Kind == Watches || p.Kind == Templates || p.Kind == Records }

// PlainKey is the key of a spot that measures all calls of a method.
const PlainKey = "probe"

// FullName identifies a spot among all spots of a session.
func (p *Spot) FullName() string { return p.Class + "." + p.Member() + "#" + p.Key }

// HasSameCode reports whether two spots have the same conditions and values.
func (p *Spot) HasSameCode(other *Spot) bool {
	for i := range max(len(p.Code), len(other.Code)) {
		if !isSameLowered(p.codeAt(i), other.codeAt(i)) {
			return false
		}
	}
	return true
}

func (p *Spot) codeAt(number int) weave.Lowered {
	if number < len(p.Code) {
		return p.Code[number]
	}
	return nil
}

// hasCode reports whether a spot has more code than its template, because of which a method may be impossible to weave.
func (p *Spot) hasCode() bool {
	if p.Kind == Templates || p.Kind == Records {
		return true
	}
	return slices.ContainsFunc(p.Code, func(c weave.Lowered) bool { return c != nil })
}

// isPlain reports whether a spot measures every call of its method, in one group and without end.
func (p *Spot) isPlain() bool {
	return p.Kind == Watches && p.Form == Plain && !p.hasCode() && p.Below|p.Direct|p.Outside == 0 && p.Groups == 0 && p.Context == 0 && p.Quota == 0 && !p.Queued
}

var moments = []weave.Moment{weave.AtEntry, weave.AtReturn, weave.AtThrow}

// isSameLowered compares the lowered code, so that code compiled twice from the same text
// is equal.
func isSameLowered(a, b weave.Lowered) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	for _, at := range moments {
		one, oneErr := a.Lower(at)
		two, twoErr := b.Lower(at)
		if (oneErr == nil) != (twoErr == nil) || oneErr == nil && !reflect.DeepEqual(one, two) {
			return false
		}
	}
	return true
}

// A PlacedSpot is a Spot with its id and its template. It is never modified.
type PlacedSpot struct {
	Spot
	ID          uint32
	template    *weave.Template // with id and code; nil where the spot is refused
	reason      string          // why it is refused
	isSwitched  bool
	isPure      bool   // its code calls no method that may have a hook
	fingerprint string // of its code; empty without a cache
}

// IsSwitched reports whether the setting of the spot is in the switch table, as those of Hooks,
// and not in the table of spots.
func (p *PlacedSpot) IsSwitched() bool { return p.isSwitched }

// IsActive reports whether the spot can have a hook.
func (p *PlacedSpot) IsActive() bool { return p.template != nil || p.Kind == Records && p.reason == "" }

// isSame reports whether another spot with the same key weaves the same code.
func (p *PlacedSpot) isSame(other *Spot) bool {
	return p.Kind == other.Kind && p.Form == other.Form && p.HasSameCode(other)
}

// LeftAlone returns the record of a spot that has no hook.
func (p *PlacedSpot) LeftAlone(reason string) LeftAlone {
	return LeftAlone{Class: p.Class, Method: p.Member(), Reason: reason}
}

// compareSpots orders the spots of one method, outermost first.
func compareSpots(a, b *PlacedSpot) int {
	return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), strings.Compare(a.Key, b.Key))
}

// Place binds a spot's template to its id and code, and reports whether the class has to
// be woven for it. The code of a spot that is known is not bound again. The spot is no
// target until AddSpot.
func (w *Weaver) Place(p *Spot) (placed *PlacedSpot, isNew bool) {
	w.targets.lock.Lock()
	known := w.targets.spot(p)
	w.targets.lock.Unlock()
	placed = &PlacedSpot{Spot: *p, ID: w.SpotID(*p), isSwitched: w.settings.Live && p.isPlain()}
	isSame := known != nil && known.isSame(p) && known.isSwitched == placed.isSwitched
	if isSame && known.IsActive() {
		placed.template, placed.isPure, placed.fingerprint = known.template, known.isPure, known.fingerprint
	} else {
		placed.template, placed.reason = w.bind(p, placed.ID)
		placed.isPure = !callsMethods(p.Code)
		placed.fingerprint = w.fingerprint(p.Code)
		if p.Kind == Templates {
			placed.isPure = placed.isPure && p.User.IsPure
			placed.fingerprint += fmt.Sprint(p.User.Hash(), p.User.Tags) // the ids of records follow from the spot
		}
	}
	if _, err := arena.WatchTable([]arena.WatchEntry{placed.Entry()}); err != nil {
		placed.template, placed.reason = nil, err.Error() // no table can hold it
	}
	return placed, !isSame || known.IsActive() != placed.IsActive()
}

// spotTemplates are the templates of spots.
type spotTemplates struct {
	anchor, tag, keep, plain, watch, late, capture *weave.Template
}

// of returns the template of a spot and how many numbers its code may have.
func (t *templates) of(p *Spot, isLive bool) (template *weave.Template, codes int) {
	s := &t.spots
	switch {
	case p.Kind == Anchors:
		return s.anchor, 0
	case p.Kind == Tags:
		return s.tag, 1
	case p.Kind == Keeps:
		return s.keep, 1
	case p.isPlain() && isLive:
		return t.live, 0
	case p.Form == Plain && !p.hasCode() && p.Below|p.Direct|p.Outside == 0:
		return s.plain, 0
	case p.Form == Plain:
		return s.watch, 1
	case p.Form == Late:
		return s.late, 2
	}
	return s.capture, codeLength
}

// bind returns the template of a spot with its id and code, or the reason why its code
// cannot be bound.
func (w *Weaver) bind(p *Spot, id uint32) (template *weave.Template, reason string) {
	switch p.Kind {
	case Records:
		return nil, ""
	case Templates:
		if template, reason = w.userTemplate(p); template == nil {
			return nil, reason
		}
		return template.As(int32(id)), ""
	}
	template, codes := w.templates.of(p, w.settings.Live)
	var all [codeLength]weave.Lowered
	for i, code := range p.Code {
		if code == nil {
			continue
		}
		if i >= codes {
			return nil, fmt.Sprintf("its hook has no place for condition %d", i)
		}
		all[i] = code
	}
	if codes == 0 {
		return template.As(int32(id)), ""
	}
	bound, err := template.Bind(all[:]...)
	if err != nil {
		reason, _, _ = strings.Cut(err.Error(), "\n")
		return nil, reason
	}
	return bound.As(int32(id)), ""
}

// callsMethods reports whether code calls methods of the program or of the JDK, which may
// have hooks. Sonde's own have none.
func callsMethods(codes []weave.Lowered) bool {
	mayBeHooked := func(class string) bool { return !isHooksClass(class) }
	for _, code := range codes {
		for _, at := range moments {
			if code == nil {
				continue
			}
			f, err := code.Lower(at) // where it fails the code does not run at that moment
			if err == nil && f.Calls(mayBeHooked) {
				return true
			}
		}
	}
	return false
}

// Entry returns what the hook of a spot reads. Its words are, by kind:
//
//	Watches   below | direct<<32    idle | outside    groups | fails | quota | queued | context<<32
//	Anchors   below | first<<32     direct            -
//	Tags      number                -                 -
//	Keeps     -                     -                 -
//	Templates as Watches
//	Records   number of an event's  -                 groups
//
// Spots other than Watches, Templates and Records are always on, unless they are switched by id.
func (p *PlacedSpot) Entry() arena.WatchEntry {
	e := arena.WatchEntry{Probe: arena.Probe{ID: p.ID, Flags: p.Flags, Period: p.Period}}
	switch p.Kind {
	case Watches, Templates:
		e.Words[0] = uint64(p.Below) | uint64(p.Direct)<<32
		e.Words[1] = p.idle() | uint64(p.Outside)<<arena.MostPositions
		e.Words[2] = uint64(p.Groups) | uint64(p.Quota)<<arena.QuotaShift | uint64(p.Context)<<32
		if p.isPure {
			e.Words[2] |= arena.WatchPure
		}
		if p.Fails {
			e.Words[2] |= arena.WatchFails
		}
		if p.Queued {
			e.Words[2] |= arena.WatchQueued
		}
	case Anchors:
		e.Flags |= arena.On
		e.Words[0] = uint64(p.Below) | uint64(p.First)<<32
		e.Words[1] = uint64(p.Direct)
	case Tags:
		e.Flags |= arena.On
		e.Words[0] = uint64(p.Tag)
	case Keeps:
		e.Flags |= arena.On
	case Records:
		e.Words[0], e.Words[2] = uint64(p.Tag), uint64(p.Groups)
	}
	return e
}

// idle says which values of a capturing template have no code.
func (p *PlacedSpot) idle() uint64 {
	if p.Form != Capturing {
		return 0
	}
	var atEntry, atExit [arena.WatchValues]bool
	for i := range arena.WatchValues {
		atEntry[i], atExit[i] = p.codeAt(FirstAtEntry+i) == nil, p.codeAt(FirstAtExit+i) == nil
	}
	return arena.Idle(atEntry, atExit)
}

// SpotTable returns the agent's table of these entries, with the anchors among the spots
// and the bridge methods that do not count as callers.
func SpotTable(entries map[uint32]arena.WatchEntry, spots map[uint32]*PlacedSpot, bridges map[string]bool) (control.Watches, error) {
	ids := slices.Sorted(maps.Keys(entries))
	list := make([]arena.WatchEntry, len(ids))
	positions := make(map[string]uint32)
	for i, id := range ids {
		list[i] = entries[id]
		if p := spots[id]; p != nil && p.Kind == Anchors {
			positions[p.Class+"."+p.Member()] |= p.First | p.Below | p.Direct
		}
	}
	table := control.Watches{Bridges: slices.Sorted(maps.Keys(bridges))}
	for _, member := range slices.Sorted(maps.Keys(positions)) {
		table.Anchors = append(table.Anchors, control.Anchor{Member: member, Positions: positions[member]})
	}
	var err error
	table.Table, err = arena.WatchTable(list)
	return table, err
}
