package hotspot

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// patch changes words of a memory: each patch is an offset of four bytes and a word.
func (s slab) patch(patches []byte) slab {
	changed := append(slab(nil), s...)
	for ; len(patches) >= 12; patches = patches[12:] {
		at := int(binary.LittleEndian.Uint32(patches)) % (len(s) - 7)
		copy(changed[at:], patches[4:12])
	}
	return changed
}

func onePatch(address, value uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, uint32(address-base)), value)
}

// FuzzTables opens any memory as a JVM: that of a program, of which some words are changed. There is an error in one
// line, or a JVM whose threads and code can be looked for.
func FuzzTables(f *testing.F) {
	p := newProgram(amd64)
	p.align(pageSize)
	f.Add([]byte{}, p.leafCode)
	for i := range exports {
		f.Add(onePatch(base+8*uint64(i), 1<<40), p.leafCode)
	}
	for _, address := range p.statics {
		f.Add(onePatch(address, base), p.main)
	}
	f.Fuzz(func(t *testing.T, patches []byte, pc uint64) {
		memory := p.slab.patch(patches)
		w, err := NewWalker(memory, memory)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		threads := w.Threads()
		for i := range threads {
			w.LockOf(&threads[i], threads)
		}
		w.code.find(pc)
		w.methods.find(pc)
	})
}

// FuzzScopes reads any bytes as the tables of a compiled method, and as line numbers.
func FuzzScopes(f *testing.F) {
	f.Add([]byte{0, 1, 2, 12, 1, 3, 30}, []byte{1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1}, uint32(1), uint32(20), false)
	f.Add(append(pairs(5, 2, 2), 0), make([]byte, 64), uint32(0), uint32(0), true)
	f.Fuzz(func(t *testing.T, scopes, tables []byte, at, offset uint32, noZero bool) {
		release := 17
		if noZero {
			release = 21
		}
		body := slab(append(make([]byte, sizeOfConst+60), scopes...))
		l := &layout{release: release, sizeOfPC: sizeOfPC, pcOffset: &field{size: 4}, pcScope: &field{offset: 4, size: 4}, sizeOfConst: sizeOfConst}
		c := codeCache{rounds: &rounds{memory: space{body}}, layout: l}
		b := &blob{loaded: true, scopes: scopes, metadata: tables, pcs: tables, codeEnd: 1 << 30}
		if all := c.scopesAt(b, at); len(all) > mostInlined {
			t.Errorf("%d scopes, want at most %d", len(all), mostInlined)
		}
		for _, exact := range []bool{false, true} {
			if scope, ok := c.desc(b, uint64(offset), exact); ok {
				c.scopesAt(b, scope)
			}
		}
		m := methods{rounds: c.rounds, layout: l}
		of := &method{body: base, codeSize: 60, hasLines: true}
		for bci := range 60 {
			if line := m.line(of, bci); line < 0 || line > 65_535 {
				t.Errorf("line %d", line)
			}
		}
	})
}

// FuzzWalk walks any stack with any registers: those of a thread of a program, of which some words are changed. Words of
// the memory change, too, after the JVM was opened. An edit is what to change, the kind of the value, and the value.
func FuzzWalk(f *testing.F) {
	type target struct {
		*program
		machine machine
		regs    unwind.Registers
		stack   Stack
	}
	var targets [2]target
	for i, m := range []machine{amd64, arm64} {
		p := newProgram(m)
		th := newThread(f, p, m)
		th.interpreted(p.main)
		th.compiled(6, p.outerCode+callInOuter)
		th.compiled(4, p.leafCode+40)
		th.set(m.sp, th.sp)
		p.align(pageSize)
		targets[i] = target{p, m, th.regs, *th.stack()}
	}
	for _, edits := range [][]byte{
		nil, {16, 1, 0, 0, 4}, {32, 1, 0, 0, 4}, {7, 2, 8, 0, 0}, {6, 2, 16, 0, 0}, {40, 1, 0, 2, 0, 41, 2, 0, 1, 0}, {50, 3, 1, 0, 0, 60, 0, 0, 0, 255},
	} {
		f.Add(edits, []byte{}, false)
		f.Add(edits, onePatch(targets[0].leafCode-sizeOfHeader, 0), true)
	}
	f.Fuzz(func(t *testing.T, edits, patches []byte, onARM bool) {
		p := targets[0]
		if onARM {
			p = targets[1]
		}
		memory := append(slab(nil), p.slab...)
		w, err := NewWalker(&memory, memory)
		if err != nil {
			t.Fatal(err)
		}
		w.machine = p.machine
		if err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		memory = memory.patch(patches)
		regs, stack := p.regs, Stack{p.stack.Begin, append([]byte(nil), p.stack.Bytes...)}
		for ; len(edits) >= 5; edits = edits[5:] {
			value := uint64(edits[2]) | uint64(edits[3])<<8 | uint64(edits[4])<<16
			switch edits[1] % 4 {
			case 0:
				value = value << 40 >> edits[4] // any
			case 1:
				value = p.heap + value%heapSize
			case 2:
				value = stack.Begin + value%uint64(len(stack.Bytes))&^7
			case 3:
				value = []uint64{p.main, p.outer, p.inner, p.leaf}[value%4]
			}
			if number := int(edits[0]); number < unwind.NumRegisters {
				regs.Set(number, value)
			} else if at := 8 * (number - unwind.NumRegisters); at+8 <= len(stack.Bytes) {
				binary.LittleEndian.PutUint64(stack.Bytes[at:], value)
			}
		}
		frames, end := w.Walk(regs, &stack)
		if len(frames) > mostFrames+mostInlined {
			t.Errorf("%d frames, %v", len(frames), end)
		}
		for _, frame := range frames {
			if frame.Method == nil || frame.Method.Name == "" || frame.Line < 0 {
				t.Errorf("a frame %+v", frame)
			}
		}
	})
}

// FuzzCode reads any bytes as instructions around a frame. What is read of the memory has these lengths.
func FuzzCode(f *testing.F) {
	f.Add([]byte{0x55, 0x48, 0x8b, 0xec, 0x48, 0x81, 0xec, 0x20, 0, 0, 0}, uint8(8))
	f.Add([]byte{0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x10}, uint8(12))
	f.Add([]byte{0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3}, uint8(0))
	f.Add([]byte{0xff, 0x83, 0x00, 0xd1, 0xfd, 0x7b, 0x01, 0xa9, 0xfd, 0x7b, 0xbf, 0xa9, 0xc0, 0x03, 0x5f, 0xd6}, uint8(16))
	f.Fuzz(func(t *testing.T, data []byte, offset uint8) {
		code := make([]byte, mostPrologue+16)
		copy(code, data)
		complete := int(offset) % (mostPrologue + 1)
		for at := range complete {
			if state := prologueAMD64(code[:complete+16], at); state > unknownFrame {
				t.Errorf("state %d", state)
			}
		}
		epilogueAMD64(code[:8], code[8:24])
		epilogueAMD64(nil, code[:16])
		if _, direct, ok := callAMD64(code[:longestCall], base); direct && !ok {
			t.Error("a target of what is no call")
		}
		prologueARM64(code[:complete])
		epilogueARM64(code[:20])
	})
}
