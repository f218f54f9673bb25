package hotspot

import (
	"encoding/binary"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// A Stack is a copy of a part of a thread's stack.
type Stack struct {
	Begin uint64 // address of the first byte
	Bytes []byte
}

func (s *Stack) word(address uint64) (uint64, bool) {
	if address < s.Begin || address-s.Begin > uint64(len(s.Bytes)) || uint64(len(s.Bytes))-(address-s.Begin) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(s.Bytes[address-s.Begin:]), true
}

func (s *Stack) end() uint64 { return s.Begin + uint64(len(s.Bytes)) }

// An End is why a walk ended.
type End uint8

// The ends of walks.
const (
	Complete    End = iota // at the outermost frame
	TooDeep                // the stack has more frames, and they cannot be read
	InHeap                 // the other frames of a virtual thread are on the heap
	UnknownCode            // nothing is known about the code, or not for sure
)

func (e End) String() string {
	return [...]string{"complete", "too deep", "continued on the heap", "in unknown code"}[e]
}

// A machine is what differs between processors.
type machine struct {
	pc, sp, fp, bcp int   // numbers of registers, as DWARF has them
	method, sender  int   // registers of the method that the interpreter enters, and of the caller's stack pointer
	link            int   // register with the return address; -1 if calls push it
	wrapper         int64 // of a call from the VM, in words from the frame pointer
}

var (
	amd64 = machine{pc: 16, sp: 7, fp: 6, bcp: r13, method: 3, sender: r13, link: -1, wrapper: -6}
	arm64 = machine{pc: 32, sp: 31, fp: 29, bcp: 22, method: 12, sender: 19, link: 30, wrapper: -8}
)

// Registers of amd64.
const (
	rax = 0
	rcx = 2
	r13 = 13
)

const (
	// mostFrames bounds a walk.
	mostFrames = 4096
	// mostLooks bounds the addresses that are looked up to find the frames. Few are needed for each.
	mostLooks = 20_000
	// deepest bounds the bytes of a live stack that are read.
	deepest = 2 << 20
)

// A walk is the walk over one stack.
type walk struct {
	*Walker
	stack  Stack
	live   bool // the thread stands still, so more of its stack can be read
	regs   unwind.Registers
	frames []jfr.Frame
	looked int  // addresses that were looked up
	top    bool // no frame has been left yet: the position may be anywhere in its code
	exact  bool // the position is that of an instruction, not a return address
	java   bool // the frames come from a Java method, so only generated code can be next
	found  bool // a frame was found by a search
	sure   int  // how many frames came before the search
	callee *blob
}

func (w *walk) pc() uint64 { return w.regs.Values[w.machine.pc] }
func (w *walk) sp() uint64 { return w.regs.Values[w.machine.sp] }
func (w *walk) fp() uint64 { return w.regs.Values[w.machine.fp] }

// move goes to another frame. Frames lie above each other.
func (w *walk) move(pc, sp, fp uint64) bool {
	up := sp >= w.sp() && (sp > w.sp() || w.top)
	w.regs.Values[w.machine.pc], w.regs.Values[w.machine.sp], w.regs.Values[w.machine.fp] = pc, sp, fp
	w.top, w.exact = false, false
	return up
}

// search goes to a frame that was found by a search. What earlier calls have left on the stack may look like one, so
// the frames count only if they lead to the end of the stack.
func (w *walk) search(pc, sp, fp uint64) bool {
	if !w.found {
		w.found, w.sure = true, len(w.frames)
	}
	return w.move(pc, sp, fp)
}

// Walk returns the frames of a thread, the innermost first.
func (w *Walker) Walk(regs unwind.Registers, stack *Stack) ([]jfr.Frame, End) {
	v := &walk{Walker: w, stack: *stack, regs: regs, top: true, exact: true}
	return v.all()
}

// all returns the frames that are sure.
func (w *walk) all() ([]jfr.Frame, End) {
	end := w.run()
	if end == UnknownCode && w.found {
		w.frames = w.frames[:w.sure]
	}
	return w.frames, end
}

// word returns a word of the stack. More of a live stack is read as far as it is needed.
func (w *walk) word(address uint64) (uint64, bool) {
	if word, ok := w.stack.word(address); ok || !w.live {
		return word, ok
	}
	end := w.stack.end()
	if address < end-min(end, 7) || address-w.stack.Begin >= deepest {
		return 0, false
	}
	size := max(uint64(len(w.stack.Bytes)), address+8-end)
	w.stack.Bytes = append(w.stack.Bytes, w.memory.prefix(end, int(size))...)
	return w.stack.word(address)
}

func (w *walk) run() End {
	for range mostFrames { // and stubs, which have no frames
		pc := w.pc()
		var more bool
		var end End
		switch {
		case pc == w.callStub:
			more, end = w.entryFrame()
		case w.code.holds(pc):
			more, end = w.generated(pc)
		case w.java:
			return UnknownCode // native code calls Java only through stubs
		default:
			more, end = w.native(pc)
		}
		if !more {
			return end
		}
	}
	return TooDeep
}

// outside says why a word of the stack could not be read.
func (w *walk) outside(address uint64) End {
	if address >= w.stack.end() && address < w.stack.Begin+(64<<20) {
		return TooDeep
	}
	return UnknownCode
}

// entryFrame leaves a call from the VM into Java for the Java frames before it.
func (w *walk) entryFrame() (bool, End) {
	at := w.fp() + uint64(w.machine.wrapper*8)
	wrapper, ok := w.word(at)
	if !ok {
		return false, w.outside(at)
	}
	anchor := wrapper + w.layout.wrapperAnchor.offset
	sp, ok := w.word(anchor + w.layout.anchorSP.offset)
	if !ok {
		return false, w.outside(anchor)
	}
	if sp == 0 {
		return false, Complete
	}
	pc, _ := w.word(anchor + w.layout.anchorPC.offset)
	var fp uint64
	if w.layout.anchorFP != nil {
		fp, _ = w.word(anchor + w.layout.anchorFP.offset)
	}
	if pc == 0 {
		if pc, ok = w.word(sp - 8); !ok {
			return false, w.outside(sp - 8)
		}
	}
	return w.move(pc, sp, fp), UnknownCode
}

// generated leaves a frame of generated code.
func (w *walk) generated(pc uint64) (bool, End) {
	b := w.code.find(pc)
	switch {
	case b == nil:
		return false, UnknownCode
	case b.kind == interpreterCode:
		return w.interpreted()
	case b.hasScopes():
		return w.compiled(b)
	case b.copiesFrames():
		return false, InHeap
	case strings.Contains(b.name, "upcall"):
		w.java = false // native code calls it
	}
	return w.stub(b)
}

// returnsTo reports whether an address can be the return address of a call. A method is
// called where the compiler has described it, other code by an instruction that can be seen.
func (w *walk) returnsTo(pc uint64, called *blob) bool {
	if w.looked++; w.looked > mostLooks {
		return false
	}
	if pc == w.callStub {
		return true
	}
	if called != nil && called.isCalled() {
		// Generated code or the VM calls it, but no other library.
		if m := w.natives.libraries.Find(pc); m != nil && m.Name != libjvm {
			return false
		}
		return w.isAfterCall(pc, called)
	}
	b := w.code.find(pc)
	switch {
	case b == nil:
		return false
	case b.kind == interpreterCode && (called == nil || called.kind != stubCode), b.copiesFrames():
		return true
	case w.isDescribed(b, pc):
		return true
	}
	return w.isAfterCall(pc, called)
}

// mostPushed bounds the words that code may have pushed below its frame. JDK 8 saves all vector
// registers there.
const mostPushed = 64

// isCaller reports whether there can be a frame of a caller: the address is a return address, and
// another such address, or a frame of the interpreter, is where the caller must have it.
func (w *walk) isCaller(pc, sp, fp uint64, called *blob) bool {
	if !w.returnsTo(pc, called) {
		return false
	}
	b := w.code.find(pc)
	switch {
	case b == nil, b.kind == stubCode:
		return true
	case b.kind == interpreterCode:
		return fp >= sp && w.isInterpreted(fp)
	case w.isDescribed(b, pc):
		return w.isReturn(sp + b.frame - 8)
	}
	for i := range uint64(mostPushed) {
		if w.isReturn(sp + b.frame + 8*i - 8) {
			return true
		}
	}
	return false
}

// isReturn reports whether there can be a return address at a place of the stack.
func (w *walk) isReturn(at uint64) bool {
	pc, ok := w.word(at)
	pc = w.strip(pc)
	return !ok || w.code.holds(pc) && (w.code.find(pc) == nil || w.returnsTo(pc, nil))
}

// isInterpreted reports whether there can be a frame of the interpreter at a frame pointer.
func (w *walk) isInterpreted(fp uint64) bool {
	sender, ok := w.word(fp - 8)
	pc, has := w.word(fp + 8)
	if !ok || !has {
		return w.outside(fp+8) == TooDeep
	}
	return sender > fp && sender-fp < deepest && w.code.holds(w.strip(pc))
}

// isCompiled reports whether an address is in the code of a compiled method.
func (w *walk) isCompiled(pc uint64) bool {
	b := w.code.find(pc)
	return b != nil && b.hasScopes()
}

// isUnsure reports whether a word may be the return address of a frame, in code of which nothing is known for sure.
func (w *walk) isUnsure(pc uint64) bool { return w.code.holds(pc) && w.code.find(pc) == nil }

// callsOther reports whether the call before a return address in some code is one of another method than that of the code
// called. Calls of methods that are not compiled lead to other code first. Where the receiver decides, a call leads to
// the method of the last receiver: that tells something only about a frame that a search has found.
func (w *walk) callsOther(b *blob, pc uint64, called *blob) bool {
	if last := b.calls[pc]; last.method == called.method && (last.isFixed || !w.found) {
		return false
	}
	target, isFixed, direct := w.target(pc)
	if direct && (isFixed || w.found) {
		if other := w.code.find(target); other != nil && other.kind == compiledCode && !w.methods.isSame(other.method, called.method) {
			return true
		}
	}
	if b.calls == nil {
		b.calls = map[uint64]call{}
	}
	b.calls[pc] = call{called.method, isFixed}
	return false
}

// isDescribed reports whether the compiler has described a return address.
func (w *walk) isDescribed(b *blob, pc uint64) bool {
	if !b.hasScopes() {
		return false
	}
	_, ok := w.code.desc(b, pc, true)
	return ok || w.isDeopt(b, pc)
}

func (w *walk) isDeopt(b *blob, pc uint64) bool {
	return pc != 0 && (pc == b.deopts[0] || pc == b.deopts[1])
}

// compiled leaves a compiled method, with all that is inlined in it.
func (w *walk) compiled(b *blob) (bool, End) {
	pc := w.pc()
	if w.isDeopt(b, pc) && !w.exact {
		at := w.sp() + b.origPC
		original, ok := w.word(at)
		if !ok {
			return false, w.outside(at)
		}
		if pc = original; pc < b.codeBegin || pc >= b.codeEnd {
			return false, UnknownCode
		}
	}
	scope, described := uint32(0), false
	if !w.exact {
		scope, described = w.code.desc(b, pc, true)
	}
	if !described {
		// Calls of stubs and of functions of the VM that stop nowhere are not described.
		if !w.exact && b.kind == compiledCode && !w.isAfterCall(pc, nil) {
			return false, UnknownCode // nothing returns here: it is other code by now
		}
		scope, _ = w.code.desc(b, pc, false)
	}
	if described && w.callee != nil && w.callsOther(b, pc, w.callee) {
		return false, UnknownCode
	}
	if !w.addCompiled(b, scope) {
		return false, UnknownCode
	}
	if w.exact {
		if up, known, end := w.partial(b, pc); known {
			return up, end
		}
	}
	if described {
		return w.leave(b)
	}
	return w.leavePushed(b)
}

// leavePushed leaves a complete frame of a method that is not at a call of another method. Some
// intrinsics, and calls of stubs, push words below the frame.
func (w *walk) leavePushed(b *blob) (bool, End) {
	if sp, ok := w.savedPointer(b); ok {
		return w.leaveAt(sp + b.frame)
	}
	for i := range uint64(mostPushed) {
		end := w.sp() + b.frame + 8*i
		pc, _ := w.word(end - 8)
		fp, _ := w.word(end - 16)
		if w.isUnsure(w.strip(pc)) {
			return false, UnknownCode
		}
		if w.isCaller(w.strip(pc), end, fp, nil) {
			if i > 0 {
				return w.search(w.strip(pc), end, fp), UnknownCode
			}
			return w.leaveAt(end)
		}
	}
	return w.leave(b)
}

const (
	entryBCI   = -1 // of the entry of a method
	unknownBCI = -2
)

// addCompiled adds the frames of a scope; 0 if it is not known.
func (w *walk) addCompiled(b *blob, offset uint32) bool {
	kind := jfr.C2
	if b.level > 0 && b.level < 4 {
		kind = jfr.C1
	}
	scopes := w.code.scopesAt(b, offset)
	if len(scopes) == 0 {
		scopes = []scope{{method: b.method, bci: unknownBCI}}
	}
	if b.kind == nativeWrapper {
		kind = jfr.Native
	}
	for i, s := range scopes {
		m := w.methods.find(s.method)
		if m == nil {
			return false
		}
		frame := jfr.Frame{Method: m.info, BCI: max(s.bci, entryBCI), Line: w.methods.line(m, s.bci), Kind: kind}
		if s.bci == entryBCI {
			frame.Line = w.methods.line(m, 0)
		}
		if i < len(scopes)-1 {
			frame.Kind = jfr.Inlined
		}
		w.frames = append(w.frames, frame)
	}
	w.java, w.callee = true, b
	return true
}

// leave leaves a complete frame of known size: below its end are the return address and the frame
// pointer of the caller.
func (w *walk) leave(b *blob) (bool, End) {
	if b.frame == 0 {
		return false, UnknownCode
	}
	return w.leaveAt(w.sp() + b.frame)
}

func (w *walk) leaveAt(end uint64) (bool, End) {
	pc, ok := w.word(end - 8)
	fp, has := w.word(end - 16)
	if !ok || !has {
		return false, w.outside(end - 8)
	}
	return w.move(w.strip(pc), end, fp), UnknownCode
}

// strip removes the signature of a return address.
func (w *walk) strip(pc uint64) uint64 {
	if w.machine.link >= 0 {
		return pc & (1<<48 - 1)
	}
	return pc
}

// interpreted leaves a frame of the interpreter, which has a fixed shape.
func (w *walk) interpreted() (bool, End) {
	fp := w.fp()
	slot := func(i int64) uint64 { v, _ := w.word(fp + uint64(i*8)); return v }
	if _, ok := w.word(fp + 8); !ok {
		if w.top {
			return false, UnknownCode
		}
		return false, w.outside(fp + 8)
	}
	m := w.methods.find(slot(-3))
	sender := slot(-1)
	if m == nil || sender <= fp {
		if w.top && (fp-w.sp() <= builtFirst || !w.isInterpreted(fp)) {
			return w.entered()
		}
		return false, UnknownCode
	}
	begin := m.body + w.layout.sizeOfConst
	saved := slot(-8)
	if w.layout.release == 8 {
		saved = slot(-7)
	}
	bci := -1
	for _, bcp := range []uint64{w.regs.Values[w.machine.bcp], saved} {
		if bcp >= begin && bcp-begin < m.codeSize {
			bci = int(bcp - begin)
			if w.top {
				break
			}
		}
	}
	isNative := m.info.Modifiers&accessNative != 0
	if !w.top && !isNative && (bci < 0 || !w.isWithin(m, fp)) {
		return false, UnknownCode
	}
	kind := jfr.Interpreted
	if isNative {
		kind = jfr.Native
	}
	w.frames = append(w.frames, jfr.Frame{Method: m.info, BCI: bci, Line: w.methods.line(m, bci), Kind: kind})
	w.java, w.callee = true, nil
	pc, ok := w.word(fp + 8)
	caller, has := w.word(fp)
	if !ok || !has {
		return false, w.outside(fp + 8)
	}
	return w.move(w.strip(pc), sender, caller), UnknownCode
}

// isWithin reports whether the stack pointer can be in a frame of the interpreter. Compiled methods save the frame pointer of the
// interpreted one that has called the outermost of them: taken for a frame of its own, it would skip all of them.
func (w *walk) isWithin(m *method, fp uint64) bool {
	const besides = 64 // words of the fixed part, locks, and arguments that an adapter has moved
	return fp >= w.sp() && fp-w.sp() <= 8*(besides+m.maxStack)
}

// builtFirst are the bytes of a frame that the interpreter pushes before the method.
const builtFirst = 2 * 8

// entered leaves the begin of an interpreted method, which was interrupted before its frame was
// complete: a register holds the method.
func (w *walk) entered() (bool, End) {
	m := w.methods.find(w.regs.Values[w.machine.method])
	fp := w.fp()
	if pc, ok := w.word(fp + 8); m != nil && ok && fp >= w.sp() && fp-w.sp() <= builtFirst && w.returnsTo(w.strip(pc), nil) {
		w.frames = append(w.frames, jfr.Frame{Method: m.info, Line: w.methods.line(m, 0), Kind: jfr.Interpreted})
		w.java = true
		caller, _ := w.word(fp)
		sender := w.regs.Values[w.machine.sender]
		if at, _ := w.word(fp - 8); at > fp && at-fp < 1<<16 {
			sender = at
		}
		return w.move(w.strip(pc), max(sender, fp+16), caller), UnknownCode
	}
	return w.frameless(nil)
}

// frameless leaves code that has made no frame: the return address is where the call put it.
func (w *walk) frameless(b *blob) (bool, End) {
	if w.machine.link >= 0 {
		link := w.strip(w.regs.Values[w.machine.link])
		if !w.returnsTo(link, b) {
			return false, UnknownCode
		}
		return w.move(link, w.sp(), w.fp()), UnknownCode
	}
	if pc, _ := w.word(w.sp()); w.returnsTo(pc, b) {
		return w.search(pc, w.sp()+8, w.fp()), UnknownCode
	} else if w.isUnsure(pc) {
		return false, UnknownCode
	}
	// Code that moves arguments keeps the return address in a register.
	if pc := w.regs.Values[rax]; w.exact && w.returnsTo(pc, b) && w.regs.Values[r13] > w.sp() && w.regs.Values[r13]-w.sp() < 1<<12 {
		return w.search(pc, w.regs.Values[r13], w.fp()), UnknownCode
	}
	return false, UnknownCode
}

// unwinds reports whether code removes the frame of a method for an exception, or looks for its handler. Where it begins and ends, what is on
// top of the stack is not its return address, but what earlier calls have left in the frame of the method.
func (b *blob) unwinds() bool {
	name := strings.ToLower(b.name)
	return strings.Contains(name, "exception") || strings.Contains(name, "rethrow")
}

// barrierMark is what the stub that checks whether code may be entered pushes before the frame pointer.
const barrierMark = ^uint64(0)

// stub leaves generated code that is no method. Stubs with a frame of known size are like methods;
// others have saved the frame pointer, or made no frame, or pushed some words.
func (w *walk) stub(b *blob) (bool, End) {
	w.callee = nil
	if w.exact && b.unwinds() {
		return false, UnknownCode
	}
	if b.frame > 0 && (!w.exact || w.pc() >= b.complete && b.complete > b.codeBegin) {
		return w.leave(b)
	}
	called := b
	if !b.isCalled() {
		called = nil
	}
	if w.exact {
		if more, end := w.frameless(called); more {
			return more, end
		}
	}
	fp := w.fp()
	end := fp + 16
	pc, ok := w.word(end - 8)
	if pc == barrierMark && w.machine.link < 0 {
		end += 8
		pc, ok = w.word(end - 8)
	}
	if ok && fp >= w.sp() && !w.isInterpreted(fp) && w.returnsTo(w.strip(pc), b) {
		caller, _ := w.word(fp)
		return w.search(w.strip(pc), end, caller), UnknownCode
	}
	if w.machine.link >= 0 {
		return false, UnknownCode
	}
	for i := range uint64(mostPushed) {
		pc, _ := w.word(w.sp() + 8*i)
		sp := w.sp() + 8*i + 8
		// A compiled method jumps here to pass on an exception, and this code then calls the VM, with a word
		// that aligns the stack.
		isPassedOn := !w.exact && i < 2 && w.isCompiled(pc) && w.isCaller(pc, sp, fp, nil)
		switch {
		case isPassedOn || w.isCaller(pc, sp, fp, called):
			return w.search(pc, sp, fp), UnknownCode
		case w.isUnsure(pc) || w.isCompiled(pc):
			return false, UnknownCode
		}
	}
	return false, UnknownCode
}
