package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

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
