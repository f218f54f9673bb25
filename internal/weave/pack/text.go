package pack

import (
	"encoding/binary"
	"fmt"
)

// isWide, in the length of a text, says that it has two bytes for each code unit.
const isWide = 1 << 31

// units are the UTF-16 code units of a name as class files have it: a zero has two
// bytes there, and a character beyond the first 2^16 two times three.
func units(name string) ([]uint16, error) {
	all := make([]uint16, 0, len(name))
	for i := 0; i < len(name); {
		b := name[i:]
		switch {
		case b[0] < 0x80:
			all = append(all, uint16(b[0]))
			i++
		case b[0]&0xe0 == 0xc0 && len(b) > 1 && isTail(b[1]):
			all = append(all, uint16(b[0]&0x1f)<<6|uint16(b[1]&0x3f))
			i += 2
		case b[0]&0xf0 == 0xe0 && len(b) > 2 && isTail(b[1]) && isTail(b[2]):
			all = append(all, uint16(b[0])<<12|uint16(b[1]&0x3f)<<6|uint16(b[2]&0x3f))
			i += 3
		default:
			return nil, fmt.Errorf("%q is no name: no class file has it", name)
		}
	}
	return all, nil
}

func isTail(b byte) bool { return b&0xc0 == 0x80 }

// hash is that of Java's String.hashCode.
func hash(text []uint16) (h uint32) {
	for _, unit := range text {
		h = 31*h + uint32(unit)
	}
	return h
}

// encodeText gives a text in the form that is quick for Java, and its length: in code units,
// with isWide.
func encodeText(text []uint16) (encoded []byte, length uint32) {
	narrow := make([]byte, len(text))
	for i, unit := range text {
		if unit > 0xff {
			return wide(text), uint32(len(text)) | isWide
		}
		narrow[i] = byte(unit)
	}
	return narrow, uint32(len(text))
}

func wide(text []uint16) []byte {
	encoded := make([]byte, 0, 2*len(text))
	for _, unit := range text {
		encoded = binary.LittleEndian.AppendUint16(encoded, unit)
	}
	return encoded
}

// textSize is how many bytes a text of this length has.
func textSize(length uint32) uint64 {
	size := uint64(length &^ isWide)
	if length&isWide != 0 {
		size *= 2
	}
	return size
}

// appendText appends a text with its length before it.
func appendText(dst []byte, text string) ([]byte, error) {
	all, err := units(text)
	if err != nil {
		return nil, err
	}
	encoded, length := encodeText(all)
	return append(binary.LittleEndian.AppendUint32(dst, length), encoded...), nil
}

// decodeText is what encodeText was given, as class files have it.
func decodeText(encoded []byte, length uint32) string {
	var name []byte
	for i := range int(length &^ isWide) {
		var unit uint16
		if length&isWide != 0 {
			unit = binary.LittleEndian.Uint16(encoded[2*i:])
		} else {
			unit = uint16(encoded[i])
		}
		switch {
		case unit != 0 && unit < 0x80:
			name = append(name, byte(unit))
		case unit < 0x800:
			name = append(name, 0xc0|byte(unit>>6), 0x80|byte(unit&0x3f))
		default:
			name = append(name, 0xe0|byte(unit>>12), 0x80|byte(unit>>6&0x3f), 0x80|byte(unit&0x3f))
		}
	}
	return string(name)
}
