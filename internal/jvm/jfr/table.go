package jfr

// A table finds what is under a key. Keys of the JVM mostly count up from 1, so
// most are places in a slice; those that are not are in a map. The zero value
// of T stands for nothing.
type table[T comparable] struct {
	dense  []T
	sparse map[uint64]T
	held   int
}

// A slice may be this many times longer than what it holds, and as long in any
// case as below.
const (
	tableSlack = 4
	tableStart = 256
)

func (t *table[T]) get(key uint64) (found T, ok bool) {
	if key < uint64(len(t.dense)) {
		found = t.dense[key]
	} else if t.sparse != nil {
		found = t.sparse[key]
	}
	var nothing T
	return found, found != nothing
}

func (t *table[T]) put(key uint64, v T) {
	var nothing T
	if v == nothing {
		return
	}
	t.held++
	if key >= uint64(len(t.dense)) {
		if key >= uint64(t.held)*tableSlack+tableStart {
			if t.sparse == nil {
				t.sparse = map[uint64]T{}
			}
			t.sparse[key] = v
			return
		}
		t.grow(int(key) + 1)
	}
	t.dense[key] = v
}

// grow makes the slice longer, and takes what is in its reach from the map.
func (t *table[T]) grow(to int) {
	before := len(t.dense)
	t.dense = append(t.dense, make([]T, max(to, before*2, tableStart)-before)...)
	for key, v := range t.sparse {
		if key < uint64(len(t.dense)) {
			t.dense[key] = v
			delete(t.sparse, key)
		}
	}
}
