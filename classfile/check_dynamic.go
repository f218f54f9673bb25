package classfile

import (
	"errors"
	"fmt"
)

var errCyclic = errors.New("a dynamic constant that is, by itself or through others, an argument of its own bootstrap method")

// dynamics checks that dynamic entries name bootstrap methods that exist, and that
// none needs itself to be linked.
func (k *checker) dynamics() error {
	for i := 1; i < k.pool.Len(); i++ {
		if tag := k.pool.Tag(uint16(i)); tag != TagDynamic && tag != TagInvokeDynamic {
			continue
		}
		if method := k.bootstrapOf(uint16(i)); method >= len(k.bootstraps) {
			return k.entryError(i, fmt.Errorf("names bootstrap method %d, the class has %d", method, len(k.bootstraps)))
		}
	}
	return k.cycles()
}

func (k *checker) bootstrapOf(i uint16) int {
	method, _, _ := k.pool.Pair(i) // the entry is a dynamic one, which has two parts
	return int(method)
}

// cycles walks from bootstrap method to bootstrap method by their arguments that are
// dynamic constants. Constants that share a bootstrap method share a cycle, so each
// argument is looked at once, however many entries there are; and the trail is a
// slice, so that its length does not matter.
func (k *checker) cycles() error {
	const underWay, done = 1, 2
	state := make([]uint8, len(k.bootstraps))
	type step struct{ method, next int }
	var trail []step
	for first := range k.bootstraps {
		if state[first] != 0 {
			continue
		}
		trail = append(trail[:0], step{method: first})
		state[first] = underWay
		for len(trail) > 0 {
			last := &trail[len(trail)-1]
			arguments := k.bootstraps[last.method].Arguments
			if last.next == len(arguments) {
				state[last.method] = done
				trail = trail[:len(trail)-1]
				continue
			}
			argument := arguments[last.next]
			last.next++
			if k.pool.Tag(argument) != TagDynamic {
				continue
			}
			switch method := k.bootstrapOf(argument); state[method] {
			case underWay:
				return k.entryError(int(argument), errCyclic)
			case 0:
				state[method] = underWay
				trail = append(trail, step{method: method})
			}
		}
	}
	return nil
}
