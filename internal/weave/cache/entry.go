package cache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// An Entry is a class as it was woven, and what is known of that. Who has one must
// not change it, nor the bytes in it: several may have the same.
type Entry struct {
	Class    string   // internal name
	Original Original // the class file it was woven from
	Engine   string   // version of what wove it
	Made     time.Time
	Woven    []byte // nil where nothing of it could be woven
	Methods  []Method
	Calls    []Slot // methods whose calls were wrapped: the ids at those calls
}

// A Method is what became of one that was chosen.
type Method struct {
	Name, Descriptor string
	Templates        []string     // what stands around it, the outermost first; none where only calls in it were wrapped
	Woven            bool         // else Reason says why not
	Reason           weave.Reason // its Kind is empty where there is none
	HasID            bool         // woven code names it by
	ID               uint32       //   this
	Sites            int          // how many calls in it were wrapped
	Left             []LeftCall   // calls in it that were chosen and left alone
	Offsets          Offsets      // from the original's to the woven
}

// A LeftCall is a call that was chosen and left alone.
type LeftCall struct {
	Offset                  int // of the call instruction in the original
	Opcode                  opcode.Op
	Owner, Name, Descriptor string
	IsInterface             bool
	Reason                  weave.Reason
}

// A Slot is the id by which woven code names a method of another class.
type Slot struct {
	Class, Name, Descriptor string
	ID                      uint32
}

// An Identify gives the id by which a process names a method: weave.MethodID, unless
// two of its methods share one.
type Identify func(class, name, descriptor string) int32

// Fits reports whether the ids in an entry are those that a process uses. Where they
// are not the entry is of no use to it, and counts as missing.
func (e *Entry) Fits(identify Identify) bool {
	for i := range e.Methods {
		m := &e.Methods[i]
		if m.HasID && uint32(identify(e.Class, m.Name, m.Descriptor)) != m.ID {
			return false
		}
	}
	for _, s := range e.Calls {
		if uint32(identify(s.Class, s.Name, s.Descriptor)) != s.ID {
			return false
		}
	}
	return true
}

// Method finds what became of a method; nil where it was not chosen.
func (e *Entry) Method(name, descriptor string) *Method {
	for i := range e.Methods {
		if m := &e.Methods[i]; m.Name == name && m.Descriptor == descriptor {
			return m
		}
	}
	return nil
}

// A Weaving is all that an entry is made of.
type Weaving struct {
	Class    string
	Original Original
	Engine   string
	Made     time.Time
	Result   *weave.Result

	// Templates names what was put around a method. Where it is nil each woven method
	// counts as having its id in its code.
	Templates func(name, descriptor string) []string
	// Identify is what the weaver had; nil for weave.MethodID.
	Identify Identify
	// Calls are the methods around whose calls hooks were put.
	Calls []Slot
}

// NewEntry makes an entry. It keeps no text of the result, and its woven bytes as they
// are.
func NewEntry(w Weaving) *Entry {
	e := &Entry{
		Class: strings.Clone(w.Class), Original: w.Original, Engine: w.Engine, Made: w.Made.Truncate(time.Millisecond),
		Woven: w.Result.Bytes, Calls: w.Calls,
	}
	identify := w.Identify
	if identify == nil {
		identify = weave.MethodID
	}
	if len(w.Result.Methods) > 0 {
		e.Methods = make([]Method, len(w.Result.Methods))
	}
	for i := range w.Result.Methods {
		r := &w.Result.Methods[i]
		m := &e.Methods[i]
		*m = Method{
			Name: strings.Clone(r.Name), Descriptor: strings.Clone(r.Descriptor), Woven: r.Woven, Reason: reasonOf(r.Reason),
			Sites: r.Sites, Offsets: PackOffsets(r.Offsets),
		}
		if w.Templates != nil {
			m.Templates = w.Templates(m.Name, m.Descriptor)
		}
		if m.HasID = m.Woven && (w.Templates == nil || len(m.Templates) > 0); m.HasID {
			m.ID = uint32(identify(e.Class, m.Name, m.Descriptor))
		}
		for _, l := range r.Left {
			m.Left = append(m.Left, leftCall(l))
		}
	}
	return e
}

func leftCall(l weave.LeftSite) LeftCall {
	return LeftCall{
		Offset: l.Offset, Opcode: l.Call.Opcode, Owner: strings.Clone(l.Call.Owner), Name: strings.Clone(l.Call.Name),
		Descriptor: strings.Clone(l.Call.Descriptor), IsInterface: l.Call.IsInterface, Reason: reasonOf(l.Reason),
	}
}

// reasonOf is an error of the weaver, which has no others than these.
func reasonOf(err error) weave.Reason {
	var reason *weave.Reason
	switch {
	case err == nil:
		return weave.Reason{}
	case errors.As(err, &reason):
		return *reason
	}
	return weave.Reason{Kind: weave.Malformed, Detail: err.Error()}
}

// Result is what the weaver gave, but for the offset maps: those are in the methods of
// the entry, packed. The list of methods is in the memory of the one given, if that has
// room.
func (e *Entry) Result(methods []weave.MethodResult) weave.Result {
	result := weave.Result{Bytes: e.Woven, Methods: slices.Grow(methods[:0], len(e.Methods))}
	for i := range e.Methods {
		m := &e.Methods[i]
		r := weave.MethodResult{Name: m.Name, Descriptor: m.Descriptor, Woven: m.Woven, Sites: m.Sites}
		if m.Reason != (weave.Reason{}) {
			r.Reason = &m.Reason
		}
		for j := range m.Left {
			l := &m.Left[j]
			r.Left = append(r.Left, weave.LeftSite{
				Offset: l.Offset, Reason: &l.Reason,
				Call: weave.Call{Opcode: l.Opcode, Owner: l.Owner, Name: l.Name, Descriptor: l.Descriptor, IsInterface: l.IsInterface},
			})
		}
		result.Methods = append(result.Methods, r)
	}
	return result
}

// Offsets is an offset map in few bytes. Few of those that take an entry want the map,
// so it is unpacked when asked for.
//
//	shift...   for each run of instructions that moved together
//	  varint   bytes of the original between the run before and this
//	  varint   bytes of the woven code between them
//	  varint   length of the run
type Offsets string

// PackOffsets packs a map.
func PackOffsets(m code.OffsetMap) Offsets {
	packed := make([]byte, 0, 4*len(m))
	var old, now uint16 // modulo 2^16, so that any map comes back as it was
	for _, s := range m {
		packed = binary.AppendUvarint(packed, uint64(s.Old-old))
		packed = binary.AppendUvarint(packed, uint64(s.New-now))
		packed = binary.AppendUvarint(packed, uint64(s.Size))
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return Offsets(packed)
}

var errOffsets = errors.New("an offset map that ends in the middle, or has numbers that no code has")

// Map unpacks the map.
func (o Offsets) Map() (code.OffsetMap, error) {
	if len(o) == 0 {
		return nil, nil
	}
	m := make(code.OffsetMap, 0, len(o)/3)
	var old, now uint16
	for r := (reader{rest: string(o)}); r.rest != ""; {
		var n [3]uint16
		for i := range n {
			n[i] = uint16(r.within(0xffff))
		}
		if r.failed != "" {
			return nil, errOffsets
		}
		s := code.Shift{Old: old + n[0], New: now + n[1], Size: n[2]}
		m = append(m, s)
		old, now = s.Old+s.Size, s.New+s.Size
	}
	return m, nil
}

// A Key names an entry: a hash of all that decides what weaving gives.
type Key [sha256.Size]byte

// String is the key in hexadecimal, which is also its name on disk.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey reads a key as String writes it.
func ParseKey(text string) (Key, error) {
	var k Key
	if len(text) != hex.EncodedLen(len(k)) {
		return k, fmt.Errorf("%q is no key: a key has %d hexadecimal digits", text, hex.EncodedLen(len(k)))
	}
	if _, err := hex.Decode(k[:], []byte(text)); err != nil {
		return k, fmt.Errorf("%q is no key: %w", text, err)
	}
	return k, nil
}

// An Original tells a class file from all others.
type Original struct {
	Digest [sha256.Size]byte
	Size   int
}

// OriginalOf is that of a class file.
func OriginalOf(class []byte) Original { return Original{sha256.Sum256(class), len(class)} }

// Ingredients are all that decides what weaving gives.
type Ingredients struct {
	Class     []byte   // the class file that is woven
	Templates [][]byte // class files of the templates, in an order that stays
	Spec      string   // which methods get what: probes, conditions
	Engine    string   // version of what weaves; Engine gives that of this program
}

// Key is the name of what becomes of them.
func (i Ingredients) Key() Key {
	return NewRecipe(i.Engine, i.Templates...).Key(OriginalOf(i.Class), i.Spec)
}

// keyDomain keeps these hashes apart from any other use of the same one. It changes
// when the meaning of a key does.
const keyDomain = "sonde instrumentation cache, key 2\n"

// A Recipe is what many classes have in common, hashed once. It may be used by many
// at once.
type Recipe struct {
	engine string
	digest [sha256.Size]byte
}

// NewRecipe is that of an engine and templates.
func NewRecipe(engine string, templates ...[]byte) *Recipe {
	// Each part has its length before it: no two lists read the same.
	text := append([]byte(keyDomain), 0)
	text = binary.AppendUvarint(text, uint64(len(engine)))
	text = append(text, engine...)
	text = binary.AppendUvarint(text, uint64(len(templates)))
	for _, template := range templates {
		sum := sha256.Sum256(template)
		text = append(text, sum[:]...)
	}
	return &Recipe{engine: engine, digest: sha256.Sum256(text)}
}

// Engine is the version of what weaves.
func (r *Recipe) Engine() string { return r.engine }

// Key is the name of what becomes of a class by a spec.
func (r *Recipe) Key(class Original, spec string) Key { return r.key(&class, []byte(spec)) }

func (r *Recipe) key(class *Original, spec []byte) Key {
	var room [512]byte // so that most need no other
	text := append(room[:0], r.digest[:]...)
	text = binary.AppendUvarint(text, uint64(class.Size))
	text = append(text, class.Digest[:]...)
	text = binary.AppendUvarint(text, uint64(len(spec)))
	text = append(text, spec...)
	return sha256.Sum256(text)
}

// Engine is the version of what weaves in this program: that of a release, or of the
// commit it was built from; of anything else, the build itself. So no program ever
// takes what one with another engine has woven.
var Engine = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.Contains(v, "+dirty") {
			return v
		}
	}
	path, err := os.Executable()
	if err == nil {
		var build string
		if build, err = buildOf(path); err == nil {
			return "build " + build
		}
	}
	// Nothing is known of it, so nothing of it may be taken for another's.
	return "unknown " + rand.Text()
})

// buildOf is a short name of what a program was built from.
func buildOf(path string) (string, error) {
	if program, err := elf.Open(path); err == nil {
		defer func() { _ = program.Close() }() // only read
		if note := program.Section(".note.go.buildid"); note != nil {
			// The linker has put a hash of all that went into the program there.
			if id, err := note.Data(); err == nil && len(id) > 16+20 {
				sum := sha256.Sum256(id)
				return hex.EncodeToString(sum[:10]), nil
			}
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:10]), nil
}

// A Sought is a class that is wanted as it is woven by a recipe and a spec. Its key, which
// takes time to make, is made when somebody asks for it.
type Sought struct {
	Recipe *Recipe
	Class  []byte // the class file
	Spec   []byte

	private     Original // with a hash that only this cache knows to make
	original    Original // both are made
	key         Key      //   when they are asked for
	hasOriginal bool
	hasKey      bool
}

// Original tells the class file from all others.
func (s *Sought) Original() Original {
	if !s.hasOriginal {
		s.original, s.hasOriginal = OriginalOf(s.Class), true
	}
	return s.original
}

// Key is the name of the entry.
func (s *Sought) Key() Key {
	if !s.hasKey {
		class := s.Original()
		s.key, s.hasKey = s.Recipe.key(&class, s.Spec), true
	}
	return s.key
}

// Find finds an entry; the error is ErrMissing. It takes less time than Get of the key,
// which has to be made first.
func (c *Cache) Find(ctx context.Context, s *Sought) (*Entry, error) {
	if c.disk == nil || c.quiet.blind.Load() {
		return c.Get(ctx, s.Key())
	}
	alias, ok := c.disk.alias(s)
	if !ok {
		return c.Get(ctx, s.Key())
	}
	if e := c.disk.byAlias(ctx, alias, s); e != nil {
		c.quiet.counts.hits.Add(1)
		return e, nil
	}
	c.disk.loose.name(s.Key(), alias)
	e, err := c.Get(ctx, s.Key())
	if err == nil {
		c.gathering.want() // for the next time
	}
	return e, err
}
