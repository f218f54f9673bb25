package hotspot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// A program is an image with code of all kinds:
//
//	Main.main (interpreted) calls App.outer (C2), into which App.inner is inlined, and that calls App.leaf (C1).
type program struct {
	*fakeJVM
	main, outer, inner, leaf uint64 // methods
	interpreter, callStub    uint64 // code
	outerCode, leafCode      uint64
	stub                     uint64
}

// Offsets in the code of the program.
const (
	callInOuter = 16 // the return address of the call of leaf
	leafEntry   = 8
)

// callAMD64At returns code of a size that ends with a call of what a register holds.
func callAMD64At(size int) []byte {
	return append(slices.Repeat([]byte{0x90}, size-2), 0xff, 0xd0)
}

func newProgram(m machine) *program {
	p := &program{fakeJVM: newFakeJVM()}
	p.main, p.outer = p.method("Main", "main"), p.method("App", "outer")
	p.inner, p.leaf = p.method("App", "inner"), p.method("App", "leaf")
	p.interpreter = p.place(piece{name: "Interpreter", code: make([]byte, 512)})
	p.callStub = p.place(piece{name: "StubRoutines (1)", code: make([]byte, 64)}) + 32
	p.put(p.statics["StubRoutines::_call_stub_return_address"], p.callStub)
	p.stub = p.place(piece{name: "StubRoutines (2)", code: make([]byte, 64)})
	call, prologue, ret := callAMD64At(callInOuter), []byte{0x55, 0x48, 0x83, 0xec, 0x10}, []byte{0xc3} // push rbp; sub rsp, 16
	if m.link >= 0 {
		call = append(make([]byte, callInOuter-4), 0, 0, 0, 0x94)                                           // bl
		prologue, ret = []byte{0xff, 0x83, 0, 0xd1, 0xfd, 0x7b, 0x01, 0xa9}, []byte{0xc0, 0x03, 0x5f, 0xd6} // sub sp, sp, 32; stp fp, lr, [sp, 16]
	}
	p.outerCode = p.place(piece{name: "nmethod", frame: 6, method: p.outer, id: 7, level: 4, code: append(call, make([]byte, 48)...),
		calls: map[int][]position{callInOuter: {{p.inner, 25}, {p.outer, 31}}, 40: {{p.outer, 5}}}})
	leaf := append(append(make([]byte, leafEntry), prologue...), make([]byte, 24)...)
	copy(leaf[32:], ret)
	p.leafCode = p.place(piece{name: "nmethod", frame: 4, method: p.leaf, id: 8, level: 1, entry: leafEntry, complete: leafEntry + len(prologue),
		code: append(leaf, make([]byte, 32)...), calls: map[int][]position{48: {{p.leaf, 10}}}})
	return p
}

// A thread is a stack and registers that are built from the outermost frame on.
type thread struct {
	t     testing.TB
	p     *program
	m     machine
	words map[uint64]uint64
	sp    uint64
	regs  unwind.Registers
}

const stackTop = 0x7000_0000

func newThread(t testing.TB, p *program, m machine) *thread {
	th := &thread{t: t, p: p, m: m, words: map[uint64]uint64{}, sp: stackTop - 0x400}
	// The frame of the call from the VM: the frame pointer leads to a wrapper, which has no anchor of earlier frames.
	fp, wrapper := th.sp+0x100, th.sp+0x180
	th.words[fp+uint64(m.wrapper*8)] = wrapper
	th.words[wrapper+p.offsets["JavaCallWrapper::_anchor"]+p.offsets["JavaFrameAnchor::_last_Java_sp"]] = 0
	th.set(m.fp, fp)
	th.set(m.pc, p.callStub)
	return th
}

func (th *thread) set(register int, value uint64) { th.regs.Set(register, value) }
func (th *thread) get(register int) uint64        { return th.regs.Values[register] }

// interpreted calls a method in the interpreter, which is at position 12.
func (th *thread) interpreted(method uint64) {
	const bci = 12
	sender := th.sp
	fp := th.sp - 16
	body := binary.LittleEndian.Uint64(th.p.slab[method+th.p.offsets["Method::_constMethod"]-base:])
	th.words[fp+8], th.words[fp] = th.get(th.m.pc), th.get(th.m.fp)
	th.words[fp-8], th.words[fp-16], th.words[fp-24] = sender, 0, method
	th.words[fp-64] = body + sizeOfConst + bci
	th.sp = fp - 80
	th.set(th.m.fp, fp)
	th.set(th.m.pc, th.p.interpreter+100)
	th.set(th.m.bcp, body+sizeOfConst+bci)
}

// compiled calls compiled code with a frame of some words, which is at an address.
func (th *thread) compiled(frame int, pc uint64) {
	th.words[th.sp-8], th.words[th.sp-16] = th.get(th.m.pc), th.get(th.m.fp)
	th.sp -= uint64(frame) * 8
	th.set(th.m.fp, 0x1234) // methods use it for anything
	th.set(th.m.pc, pc)
}

// stack returns the copy of the stack.
func (th *thread) stack() *Stack {
	s := &Stack{Begin: th.sp, Bytes: make([]byte, stackTop-th.sp)}
	for address, word := range th.words {
		if address >= s.Begin {
			binary.LittleEndian.PutUint64(s.Bytes[address-s.Begin:], word)
		}
	}
	return s
}

func (th *thread) walk(w *Walker) ([]string, End) {
	th.set(th.m.sp, th.sp)
	frames, end := w.Walk(th.regs, th.stack())
	return names(frames), end
}

var machines = map[string]machine{"amd64": amd64, "arm64": arm64}

var (
	allFrames  = []string{"App.leaf:100 C1", "App.inner:102 inlined", "App.outer:103 C2", "Main.main:101 interpreted"}
	mainFrames = allFrames[3:]
)

// TestWalk interrupts the program at each kind of place.
func TestWalk(t *testing.T) {
	for name, m := range machines {
		// inLeaf is a thread in the complete frame of leaf.
		inLeaf := func(t *testing.T, p *program, pc uint64) *thread {
			th := newThread(t, p, m)
			th.interpreted(p.main)
			th.compiled(6, p.outerCode+callInOuter)
			th.compiled(4, pc)
			return th
		}
		// entered is a thread that has just called leaf.
		entered := func(t *testing.T, p *program, pc uint64) *thread {
			th := newThread(t, p, m)
			th.interpreted(p.main)
			th.compiled(6, p.outerCode+callInOuter)
			if m.link < 0 {
				th.sp -= 8
				th.words[th.sp] = th.get(m.pc)
			} else {
				th.set(m.link, th.get(m.pc))
			}
			th.set(m.pc, pc)
			return th
		}
		saved := func(t *testing.T, p *program, pc, size uint64) *thread {
			th := entered(t, p, pc)
			if m.link < 0 {
				th.sp -= 8
				th.words[th.sp] = th.get(m.fp)
			} else {
				th.sp -= size
			}
			return th
		}
		for _, test := range []struct {
			name   string
			thread func(t *testing.T, p *program) *thread
			want   []string
			end    End
		}{
			{"interpreted", func(t *testing.T, p *program) *thread {
				th := newThread(t, p, m)
				th.interpreted(p.main)
				return th
			}, mainFrames, Complete},
			{"compiled", func(t *testing.T, p *program) *thread { return inLeaf(t, p, p.leafCode+40) }, []string{"App.leaf:101 C1", allFrames[1], allFrames[2], allFrames[3]}, Complete},
			{"before the frame", func(t *testing.T, p *program) *thread { return entered(t, p, p.leafCode+2) }, nil, Complete},
			{"at the entry", func(t *testing.T, p *program) *thread { return entered(t, p, p.leafCode+leafEntry) }, nil, Complete},
			{"in the prologue", func(t *testing.T, p *program) *thread {
				after := uint64(1) // push rbp
				if m.link >= 0 {
					after = 4 // sub sp
				}
				return saved(t, p, p.leafCode+leafEntry+after, 32)
			}, nil, Complete},
			{"at the return", func(t *testing.T, p *program) *thread { return entered(t, p, p.leafCode+32) }, nil, Complete},
			{"a stub without a frame", func(t *testing.T, p *program) *thread { return entered(t, p, p.stub+8) }, allFrames[1:], Complete},
			{"code that is not known", func(t *testing.T, p *program) *thread { return inLeaf(t, p, p.heap+heapSize-64) }, []string{}, UnknownCode},
			{"frames on the heap", func(t *testing.T, p *program) *thread {
				copies := p.place(piece{name: "StubRoutines (continuation stubs)", code: make([]byte, 64)})
				th := newThread(t, p, m)
				th.interpreted(p.main)
				th.compiled(6, p.outerCode+callInOuter)
				th.compiled(6, copies+8)
				th.compiled(4, p.leafCode+40)
				return th
			}, []string{"App.leaf:101 C1"}, InHeap},
			{"a stack that is cut off", func(t *testing.T, p *program) *thread {
				th := inLeaf(t, p, p.leafCode+40)
				for address := range th.words {
					if address > th.sp+9*8 {
						delete(th.words, address)
					}
				}
				return th
			}, []string{"App.leaf:101 C1", allFrames[1], allFrames[2]}, UnknownCode},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				p := newProgram(m)
				got, end := test.thread(t, p).walk(p.walker(t, m))
				want := test.want
				if want == nil {
					// leaf is described at its only call, and its frames are those of the next described address.
					want = []string{"App.leaf:101 C1", allFrames[1], allFrames[2], allFrames[3]}
				}
				if strings.Join(got, ", ") != strings.Join(want, ", ") || end != test.end {
					t.Errorf("got %q, %v\nwant %q, %v", got, end, want, test.end)
				}
			})
		}
	}
}

// TestSkippedCaller walks a stack on which leaf returns to a call of another method in outer, as if a frame between them had been
// taken for a part of leaf's.
func TestSkippedCaller(t *testing.T) {
	for _, test := range []struct {
		name   string
		called func(p *program) uint64 // by outer
		before []byte                  // the call
		want   []string
		end    End
	}{
		{"another method", func(p *program) uint64 { return p.method("App", "between") }, nil, []string{"App.leaf:101 C1"}, UnknownCode},
		{"leaf before its class was redefined", func(p *program) uint64 { return p.method("App", "leaf") }, nil, nil, Complete},
		{"another method of the last receiver", func(p *program) uint64 { return p.method("App", "between") }, []byte{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, nil, Complete},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProgram(amd64)
			code := p.place(piece{name: "nmethod", frame: 4, method: test.called(p), id: 9, level: 4, code: slices.Repeat([]byte{0x90}, 64)})
			at := p.outerCode + callInOuter
			call := append(test.before, 0xe8)
			call = binary.LittleEndian.AppendUint32(call, uint32(code-at))
			copy(p.slab[at-uint64(len(call))-base:], call)
			th := newThread(t, p, amd64)
			th.interpreted(p.main)
			th.compiled(6, at)
			th.compiled(4, p.leafCode+40)
			want := test.want
			if want == nil {
				want = append([]string{"App.leaf:101 C1"}, allFrames[1:]...)
			}
			w := p.walker(t, amd64)
			for range 2 { // the second time with what is kept of the first
				if got, end := th.walk(w); strings.Join(got, ", ") != strings.Join(want, ", ") || end != test.end {
					t.Errorf("got %q, %v\nwant %q, %v", got, end, want, test.end)
				}
			}
		})
	}
}

// TestFarInterpretedCaller has a frame pointer that leads past frames between the compiled method and the interpreted one.
func TestFarInterpretedCaller(t *testing.T) {
	both := []string{"App.outer:100 C2", "Main.main:101 interpreted"}
	for name, m := range machines {
		for _, test := range []struct {
			between uint64 // words
			want    []string
			end     End
		}{{0, both, Complete}, {40, both, Complete}, {100, both[:1], UnknownCode}} {
			t.Run(fmt.Sprintf("%s/%d", name, test.between), func(t *testing.T) {
				p := newProgram(m)
				th := newThread(t, p, m)
				th.interpreted(p.main)
				th.sp -= 8 * test.between
				th.compiled(6, p.outerCode+callInOuter)
				if got, end := th.walk(p.walker(t, m)); strings.Join(got, ", ") != strings.Join(test.want, ", ") || end != test.end {
					t.Errorf("got %q, %v\nwant %q, %v", got, end, test.want, test.end)
				}
			})
		}
	}
}

// TestStaleFrames interrupts a stub above words that earlier calls have left there, which look like frames of leaf that
// outer has called.
func TestStaleFrames(t *testing.T) {
	const monitorEnter = "C1 Runtime monitorenter_blob"
	p := newProgram(amd64)
	enter := p.place(piece{name: monitorEnter, frame: 40, code: make([]byte, 64)})
	native := p.place(piece{name: "native nmethod", frame: 4, method: p.leaf, code: slices.Repeat([]byte{0x90}, 64)})
	handler := p.place(piece{name: "ExceptionBlob", frame: 2, code: make([]byte, 64)})
	// outer calls the stub where it called leaf.
	direct := binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(enter-(p.outerCode+callInOuter)))
	copy(p.slab[p.outerCode+callInOuter-5-base:], direct)
	stale := func(th *thread, frames int) {
		for range frames {
			th.compiled(4, p.leafCode+48)
		}
	}
	for _, test := range []struct {
		name   string
		thread func() *thread
		want   []string
		end    End
	}{
		{"in a stub with a frame pointer", func() *thread {
			th := newThread(t, p, amd64)
			th.interpreted(p.main)
			th.compiled(6, p.outerCode+callInOuter)
			fp := th.sp - 16
			th.words[fp+8], th.words[fp] = th.get(amd64.pc), th.get(amd64.fp)
			th.sp = fp
			th.set(amd64.pc, p.leafCode+48)
			stale(th, 6)
			th.sp -= 8
			th.words[th.sp] = p.leafCode + 48
			th.set(amd64.pc, enter+8)
			th.set(amd64.fp, fp)
			return th
		}, allFrames[1:], Complete},
		{"in the stub that checks code at its entry", func() *thread {
			th := newThread(t, p, amd64)
			th.interpreted(p.main)
			th.compiled(6, p.outerCode+callInOuter)
			fp := th.sp - 24
			th.words[fp+16], th.words[fp+8], th.words[fp] = th.get(amd64.pc), barrierMark, th.get(amd64.fp)
			th.sp = fp - 32
			th.set(amd64.pc, enter+8)
			th.set(amd64.fp, fp)
			return th
		}, allFrames[1:], Complete},
		{"in a native method without its frame, called by code that is not known", func() *thread {
			th := newThread(t, p, amd64)
			th.interpreted(p.main)
			th.compiled(6, p.heap+heapSize-64)
			th.sp -= 8
			th.words[th.sp] = th.get(amd64.pc)
			th.set(amd64.pc, native+16)
			return th
		}, []string{"App.leaf:0 native"}, UnknownCode},
		{"at the begin of the code that looks for the handler of an exception", func() *thread {
			th := newThread(t, p, amd64)
			th.interpreted(p.main)
			th.compiled(6, p.outerCode+callInOuter)
			th.words[th.sp+8] = p.leafCode + 48 // in the frame of outer
			th.set(amd64.pc, handler)
			return th
		}, nil, UnknownCode},
		{"that lead to other words", func() *thread {
			th := newThread(t, p, amd64)
			th.set(amd64.pc, 0x4444) // what is left of a call of native code
			th.compiled(4, p.leafCode+48)
			stale(th, 5)
			th.sp -= 8
			th.words[th.sp] = p.leafCode + 48
			th.set(amd64.pc, p.stub+8)
			return th
		}, nil, UnknownCode},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, end := test.thread().walk(p.walker(t, amd64))
			if strings.Join(got, ", ") != strings.Join(test.want, ", ") || end != test.end {
				t.Errorf("got %q, %v\nwant %q, %v", got, end, test.want, test.end)
			}
		})
	}
}
