package hotspot

import (
	"bytes"
	"encoding/binary"
)

// partial leaves a compiled method that was interrupted while its frame was not yet, or no longer,
// complete. known is false if the frame is complete.
func (w *walk) partial(b *blob, pc uint64) (up, known bool, end End) {
	if w.machine.link >= 0 {
		return w.partialARM64(b, pc)
	}
	switch w.partialAMD64(b, pc) {
	case noFrame:
		up, end = w.frameless(b)
	case savedPointer:
		up, end = w.leaveAt(w.sp() + 16)
	case reservedFrame:
		// Only the return address is known to be there.
		at := w.sp() + b.frame
		to, ok := w.word(at - 8)
		if !ok {
			return false, true, w.outside(at)
		}
		up, end = w.move(to, at, w.fp()), UnknownCode
	case unknownFrame:
		return false, true, UnknownCode
	default:
		return false, false, UnknownCode
	}
	return up, true, end
}

// A frameState is how much of a frame exists.
type frameState uint8

const (
	completeFrame frameState = iota
	noFrame
	savedPointer  // the caller's frame pointer was pushed, no more
	reservedFrame // there is room, but the frame pointer is still the caller's
	unknownFrame
)

// mostPrologue bounds the instructions that make a frame.
const mostPrologue = 128

func (w *walk) partialAMD64(b *blob, pc uint64) frameState {
	if pc < b.entry || b.frame == 0 {
		return noFrame // the check of the receiver's class, or a jump to what a method handle refers to
	}
	if pc < b.complete && b.complete-b.entry <= mostPrologue {
		code := w.memory.bytes(b.entry, int(b.complete-b.entry)+16)
		return prologueAMD64(code, int(pc-b.entry))
	}
	code := w.memory.bytes(pc, 24)
	if code == nil {
		return completeFrame
	}
	if b.kind == nativeWrapper {
		return w.nativeEpilogue(b, code)
	}
	return epilogueAMD64(w.memory.bytes(pc-10, 10), code)
}

// nativeEpilogue says how much there is of the frame of a native method. Such code has a frame
// pointer, unlike methods, and restores it before some last checks.
func (w *walk) nativeEpilogue(b *blob, code []byte) frameState {
	if state := epilogueAMD64(nil, code); state != completeFrame {
		return state
	}
	if w.fp() == w.sp()+b.frame-16 {
		return completeFrame
	}
	if pc, _ := w.word(w.sp()); w.isCaller(pc, w.sp()+8, w.fp(), nil) {
		return noFrame
	}
	return unknownFrame // not complete: what would be its return address can be that of the caller's frame
}

// prologueAMD64 follows the instructions that make a frame up to an offset.
func prologueAMD64(code []byte, offset int) frameState {
	state := noFrame
	for at := 0; at < offset; {
		n, next := instructionAMD64(code[at:], state)
		if n == 0 {
			return unknownFrame
		}
		if at += n; at <= offset {
			state = next
		}
	}
	return state
}

// instructionAMD64 returns the length of an instruction that makes a frame, and the state
// after it.
func instructionAMD64(code []byte, state frameState) (int, frameState) {
	is := func(prefix ...byte) bool { return bytes.HasPrefix(code, prefix) }
	switch {
	case is(0x55): // push rbp
		return 1, savedPointer
	case is(0x89, 0x84, 0x24): // mov [rsp-n], eax: touches the stack below
		return 7, state
	case is(0x48, 0x8b, 0xec), is(0x48, 0x89, 0xe5): // mov rbp, rsp
		return 3, state
	case is(0x48, 0x83, 0xec), is(0x48, 0x81, 0xec): // sub rsp, n
		n := 4
		if code[1] == 0x81 {
			n = 7
		}
		if state == savedPointer {
			return n, completeFrame
		}
		return n, reservedFrame
	case is(0x48, 0x89, 0x6c, 0x24): // mov [rsp+n], rbp
		return 5, completeFrame
	case is(0x48, 0x89, 0xac, 0x24):
		return 8, completeFrame
	case is(0x41, 0x81, 0x7f), is(0x41, 0x83, 0x7f): // cmp [r15+n], m: is the code still valid?
		if code[1] == 0x81 {
			return 8, state
		}
		return 5, state
	case is(0x41, 0x81, 0xbf):
		return 11, state
	case is(0x0f, 0x85): // jne
		return 6, state
	case is(0x75):
		return 2, state
	case is(0x90):
		return 1, state
	case is(0x66, 0x90):
		return 2, state
	case is(0x66, 0x66, 0x90), is(0x0f, 0x1f, 0x00):
		return 3, state
	case is(0x0f, 0x1f, 0x40), is(0x66, 0x66, 0x66, 0x90):
		return 4, state
	case is(0x0f, 0x1f, 0x44):
		return 5, state
	case is(0x66, 0x0f, 0x1f, 0x44):
		return 6, state
	case is(0x0f, 0x1f, 0x80):
		return 7, state
	case is(0x0f, 0x1f, 0x84):
		return 8, state
	}
	return 0, unknownFrame
}

// epilogueAMD64 says how much of a frame there is at an instruction, by it and by those before: a
// method ends with add rsp, n; pop rbp; a poll for safepoints; ret.
func epilogueAMD64(before, code []byte) frameState {
	is := func(prefix ...byte) bool { return bytes.HasPrefix(code, prefix) }
	at := func(i int, want ...byte) bool { return len(code) > i && bytes.HasPrefix(code[i:], want) }
	behind := func(i int, want ...byte) bool { return hasBehind(before, i, want...) }
	switch {
	case is(0xc3):
		return noFrame
	case is(0x5d) && isAfterAdd(before):
		return savedPointer
	case behind(1, 0x5d) && isAfterAdd(before[:len(before)-1]):
		return noFrame
	case is(0x49, 0x3b, 0xa7) && at(7, 0x0f, 0x87), is(0x49, 0x3b, 0x67) && at(4, 0x0f, 0x87): // cmp rsp, [r15+n]; ja
		return noFrame
	case is(0x0f, 0x87) && at(6, 0xc3): // ja; ret
		return noFrame
	case is(0x4d, 0x8b, 0x57) && at(4, 0x41, 0x85, 0x02, 0xc3), is(0x4d, 0x8b, 0x97) && at(7, 0x41, 0x85, 0x02, 0xc3): // mov r10, [r15+n]; test [r10], eax; ret
		return noFrame
	case is(0x41, 0x85, 0x02, 0xc3): // test [r10], eax; ret
		return noFrame
	case is(0x85, 0x05) && at(6, 0xc3): // test [rip+n], eax; ret
		return noFrame
	case is(0x49, 0x81, 0x7f) && at(8, 0x0f, 0x85) && at(14, 0xc3), is(0x49, 0x83, 0x7f) && at(5, 0x0f, 0x85) && at(11, 0xc3), // cmp [r15+n], 0; jne; ret
		is(0x0f, 0x85) && at(6, 0xc3):
		return noFrame
	case is(0x49, 0xba) && at(10, 0x4d, 0x89, 0x97) && at(17, 0xe9), // where a poll at the end jumps to: mov r10, n; mov [r15+n], r10; jmp
		is(0x4d, 0x89, 0x97) && at(7, 0xe9) && behind(10, 0x49, 0xba), is(0xe9) && behind(7, 0x4d, 0x89, 0x97):
		return noFrame
	}
	return completeFrame
}

// isAfterAdd reports whether code ends with add rsp, n.
func isAfterAdd(code []byte) bool {
	return hasBehind(code, 4, 0x48, 0x83, 0xc4) || hasBehind(code, 7, 0x48, 0x81, 0xc4)
}

// hasBehind reports whether the last n bytes of some code begin with others.
func hasBehind(code []byte, n int, want ...byte) bool {
	return len(code) >= n && bytes.HasPrefix(code[len(code)-n:], want)
}

// savedPointer returns the stack pointer that C2's code for String.indexOf had before it has put
// strings and registers on the stack, among them the stack pointer:
//
//	mov rcx, rsp; ...; push rax; push rsi; push rdi; push rcx; ...; pop rsp
//
// What lies on the stack there may look like frames, because it is what is left of earlier calls.
func (w *walk) savedPointer(b *blob) (uint64, bool) {
	if !w.exact || w.machine.link >= 0 || b.kind != compiledCode {
		return 0, false
	}
	const (
		before, after = 0x200, 0x80 // how far the pushes are away, at most
		mostSaved     = 0x60
	)
	pushes := []byte{0x50, 0x56, 0x57, 0x51}
	pc, sp := w.pc(), w.sp()
	if saved, _ := w.word(sp); saved > sp && saved-sp <= mostSaved && saved%8 == 0 {
		begin := max(pc-before, b.codeBegin)
		return saved, bytes.Contains(w.memory.bytes(begin, int(pc-begin)), pushes)
	}
	if saved := w.regs.Values[rcx]; saved > sp && saved-sp <= mostSaved && saved%8 == 0 {
		return saved, bytes.Contains(w.memory.bytes(pc, int(min(after, b.codeEnd-pc))), pushes)
	}
	return 0, false
}

// partialARM64 leaves a frame as partial does. While a frame is made or removed, the return address is in
// a register; only the size of what is on the stack changes.
func (w *walk) partialARM64(b *blob, pc uint64) (up, known bool, end End) {
	size := uint64(0)
	switch {
	case pc < b.entry || b.frame == 0:
	case pc < b.complete && b.complete-b.entry <= mostPrologue:
		var ok bool
		if size, ok = prologueARM64(w.memory.bytes(b.entry, int(pc-b.entry))); !ok {
			return false, true, UnknownCode
		}
	default:
		code := w.memory.bytes(pc-4, 20)
		if code == nil || !epilogueARM64(code) {
			return false, false, UnknownCode
		}
		if add, ok := addARM64(binary.LittleEndian.Uint32(code[4:])); ok {
			size = add
		}
	}
	link := w.strip(w.regs.Values[w.machine.link])
	if !w.returnsTo(link, nil) {
		return false, true, UnknownCode
	}
	return w.move(link, w.sp()+size, w.fp()), true, UnknownCode
}

// Instructions of arm64, and what is fixed in them.
const (
	subSP, subSPMask         = 0xd10003ff, 0xff8003ff // sub sp, sp, n
	addSP, addSPMask         = 0x910003ff, 0xff8003ff // add sp, sp, n
	pushFP, pushFPMask       = 0xa9807bfd, 0xffc07fff // stp fp, lr, [sp, n]!
	loadFP, loadFPMask       = 0xa9407bfd, 0xffc07fff // ldp fp, lr, [sp, n]
	popFP, popFPMask         = 0xa8c07bfd, 0xffc07fff // ldp fp, lr, [sp], n
	subSPFrom, subSPFromMask = 0xcb2063ff, 0xffe0ffff // sub sp, sp, x
	loadPoll, loadPollMask   = 0xf9400388, 0xffc003ff // ldr x8, [x28, n]
	comparePoll              = 0xeb2863ff             // cmp sp, x8
	branchPoll, branchMask   = 0x54000008, 0xff00001f // b.hi
	ret                      = 0xd65f03c0
)

// prologueARM64 returns how much instructions that make a frame have put on the stack. It fails if it cannot know.
func prologueARM64(code []byte) (size uint64, ok bool) {
	for ; len(code) >= 4; code = code[4:] {
		switch i := binary.LittleEndian.Uint32(code); {
		case i&subSPMask == subSP:
			size += immediateARM64(i)
		case i&pushFPMask == pushFP:
			size -= uint64(int64(i<<10) << 32 >> 57 * 8) // a signed number of seven bits
		case i&subSPFromMask == subSPFrom:
			return 0, false
		}
	}
	return size, len(code) == 0
}

// immediateARM64 returns the number that add and sub have.
func immediateARM64(i uint32) uint64 {
	n := uint64(i >> 10 & 0xfff)
	if i>>22&1 != 0 {
		n <<= 12
	}
	return n
}

func addARM64(i uint32) (uint64, bool) { return immediateARM64(i), i&addSPMask == addSP }

// epilogueARM64 reports whether the second instruction of some code is one of those after fp and lr were loaded: add sp,
// a poll for safepoints, and ret.
func epilogueARM64(code []byte) bool {
	before, code := binary.LittleEndian.Uint32(code), code[4:]
	if before&loadFPMask == loadFP || before&popFPMask == popFP {
		return true
	}
	for ; len(code) >= 4; code = code[4:] {
		switch i := binary.LittleEndian.Uint32(code); {
		case i == ret:
			return true
		case i&loadPollMask == loadPoll, i == comparePoll, i&branchMask == branchPoll:
		default:
			return false
		}
	}
	return false
}

const (
	longestCall = 13 // bytes of a call
	callSize    = 5  // of call n
)

// isAfterCall reports whether the instruction before an address is a call of some code; of any code if called is nil.
func (w *walk) isAfterCall(pc uint64, called *blob) bool {
	if w.code.find(pc) == nil && w.natives.libraries.Find(pc) == nil {
		return false
	}
	code := w.memory.bytes(pc-longestCall, longestCall)
	if code == nil {
		return false
	}
	if w.machine.link >= 0 {
		return isCallARM64(binary.LittleEndian.Uint32(code[longestCall-4:]))
	}
	target, direct, ok := callAMD64(code, pc)
	if !ok || called == nil || !direct {
		return ok
	}
	return target >= called.codeBegin && target < called.codeEnd
}

// target returns where the call before a return address leads, if its code has that, and whether it always leads there.
// If the receiver decides, a register gets the class of the last receiver first: mov rax, n.
func (w *walk) target(pc uint64) (target uint64, isFixed, direct bool) {
	const receiverSize = 10
	if w.machine.link >= 0 {
		return 0, false, false
	}
	code := w.memory.bytes(pc-receiverSize-callSize, receiverSize+callSize)
	if code == nil {
		return 0, false, false
	}
	target, direct, _ = callAMD64(code, pc)
	return target, !bytes.HasPrefix(code, []byte{0x48, 0xb8}), direct
}

// callAMD64 recognizes a call at the end of some code, and its target if the code has it.
func callAMD64(code []byte, pc uint64) (target uint64, direct, ok bool) {
	n := len(code)
	switch {
	case code[n-callSize] == 0xe8: // call n
		return pc + uint64(int64(int32(binary.LittleEndian.Uint32(code[n-4:])))), true, true
	case code[n-13] == 0x49 && code[n-12] == 0xba && code[n-3] == 0x41 && code[n-2] == 0xff && code[n-1] == 0xd2: // mov r10, n; call r10
		return binary.LittleEndian.Uint64(code[n-11:]), true, true
	case code[n-3] == 0x41 && code[n-2] == 0xff && code[n-1]&0xf8 == 0xd0, // call r8 to r15
		code[n-2] == 0xff && code[n-1]&0xf8 == 0xd0, // call rax to rdi
		code[n-2] == 0xff && code[n-1]&0xf8 == 0x10, // call [register]
		code[n-3] == 0xff && code[n-2]&0xf8 == 0x50, // call [register+n]
		code[n-6] == 0xff && code[n-5]&0xf8 == 0x90,
		code[n-7] == 0xff && code[n-6] == 0x94,
		code[n-6] == 0xff && code[n-5] == 0x15: // call [rip+n]
		return 0, false, true
	}
	return 0, false, false
}

// isCallARM64 recognizes bl and blr.
func isCallARM64(code uint32) bool {
	return code>>26 == 0b100101 || code&0xfffffc1f == 0xd63f0000
}
