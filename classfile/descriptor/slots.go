package descriptor

import "bytes"

// maxDimensions is the deepest array type a descriptor may name (JVMS 4.3.2).
const maxDimensions = 255

// maxArgumentSlots bounds the parameters of a method, `this` included
// (JVMS 4.3.3); long and double count twice.
const maxArgumentSlots = 255

// ArgSlots returns how many local-variable slots the parameters of a method
// descriptor take, `this` not counted, and the first byte of its return
// descriptor: one of "BCDFIJSZV", 'L' or '['.
//
// It is the fast path for code that meets a descriptor per instruction: no
// allocation, one pass. ok is false exactly when [ParseMethod] would refuse
// the descriptor, except that names inside L…; are only checked for being
// there.
func ArgSlots(desc []byte) (slots int, ret byte, ok bool) {
	if len(desc) < 3 || desc[0] != '(' {
		return 0, 0, false
	}
	pos := 1
	for pos < len(desc) && desc[pos] != ')' {
		size := 1
		if desc[pos] == 'J' || desc[pos] == 'D' {
			size = 2
		}
		next := skipField(desc, pos)
		if next < 0 {
			return 0, 0, false
		}
		slots += size
		pos = next
	}
	pos++
	if pos >= len(desc) || slots > maxArgumentSlots {
		return 0, 0, false
	}
	ret = desc[pos]
	if ret == 'V' {
		return slots, ret, pos+1 == len(desc)
	}
	return slots, ret, skipField(desc, pos) == len(desc)
}

// skipField returns the position after the field descriptor at pos, or -1
// where none stands.
func skipField(desc []byte, pos int) int {
	first := pos
	for pos < len(desc) && desc[pos] == '[' {
		pos++
	}
	if pos == len(desc) || pos-first > maxDimensions {
		return -1
	}
	switch desc[pos] {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
		return pos + 1
	case 'L':
		end := bytes.IndexByte(desc[pos:], ';')
		if end < 2 {
			return -1
		}
		return pos + end + 1
	}
	return -1
}
