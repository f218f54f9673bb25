package hotspot

import (
	"encoding/binary"
	"fmt"
)

// A layout says where HotSpot keeps what a walk needs. It differs between releases; fields that a
// release does not have are nil.
type layout struct {
	release int // of the JDK

	// The code cache.
	codeHeap, codeHeaps           *field // before 9 one heap, then a list
	listLength, listData          *field
	heapMemory, heapSegments      *field
	heapSegmentSize               *field
	spaceLow, spaceHigh           *field
	blockUsed                     *field
	blobName, blobSize, blobFrame *field
	blobComplete                  *field // where the frame is complete, from the begin of the code
	blobCodeBegin, blobCodeEnd    *field // addresses, 11 to 22
	blobCodeOffset, blobDataStart *field // offsets, otherwise
	blobRelocation, blobMutable   *field // since 25 metadata is behind relocations outside of the code cache
	blobMutableSize               *field
	sizeOfBlock                   uint64

	// Compiled methods.
	nmMethod, nmLevel, nmID, nmOrigPC *field
	nmVerified, nmVerifiedOffset      *field // an address, then an offset
	nmMetadata, nmScopesPCs, nmPCsEnd *field // offsets
	nmScopesBegin, nmScopesOffset     *field // an address on 11 to 22, otherwise an offset
	nmImmutable, nmImmutableSize      *field // since 23 scopes are outside of the code cache
	nmDeopt                           []*field
	deoptIsAddress                    bool
	sizeOfNMethod                     uint64

	// Methods and their names.
	methodConst, methodFlags               *field
	constPool, constCodeSize, constFlags   *field
	constMaxStack                          *field
	constName, constSignature              *field
	poolHolder, poolLength                 *field
	klassName                              *field
	symbolLength, symbolBody               *field
	sizeOfConst, sizeOfPool, sizeOfPC      uint64
	pcOffset, pcScope                      *field
	wrapperAnchor                          *field
	anchorSP, anchorFP, anchorPC           *field
	callStubReturn                         *field
	threadList, threadNext                 *field // before 12
	threads, threadsLength, threadsEntries *field // since 12
	threadOS, osID                         *field
	threadAnchor                           *field
	threadPending, threadObject            *field
	threadMonitorID                        *field // since 24
	threadStackBase, threadStackSize       *field
	threadLocks, locksTop, locksBase       *field // since 21
	threadAllocated, threadBuffer          *field // bytes without those in the thread's buffer for new objects
	bufferStart, bufferTop                 *field
	monitorOwner, monitorObject            *field
	klassPool, klassSuper                  *field
	klassFields, klassFieldStream          *field // a table before 21, then a stream
	sizeOfThread                           uint64
}

func newLayout(memory space, t *tables) (*layout, error) {
	var missing string
	maybe := func(names ...string) *field {
		for _, name := range names {
			if f, ok := t.fields[name]; ok {
				return &f
			}
		}
		return nil
	}
	need := func(names ...string) *field {
		f := maybe(names...)
		if f == nil {
			missing = names[0]
			f = &field{size: 8}
		}
		return f
	}
	size := func(name string) uint64 {
		n := t.sizes[name]
		if n == 0 || n > 1<<14 {
			missing = "the size of " + name
		}
		return n
	}
	l := &layout{
		codeHeap: maybe("CodeCache::_heap"), codeHeaps: maybe("CodeCache::_heaps"),
		listLength: need("GrowableArrayBase::_len", "GenericGrowableArray::_len"), listData: need("GrowableArray<int>::_data"),
		heapMemory: need("CodeHeap::_memory"), heapSegments: need("CodeHeap::_segmap"), heapSegmentSize: need("CodeHeap::_log2_segment_size"),
		spaceLow: need("VirtualSpace::_low"), spaceHigh: need("VirtualSpace::_high"),
		blockUsed: need("HeapBlock::Header::_used"),
		blobName:  need("CodeBlob::_name"), blobSize: need("CodeBlob::_size"), blobFrame: need("CodeBlob::_frame_size"),
		blobComplete:  need("CodeBlob::_frame_complete_offset"),
		blobCodeBegin: maybe("CodeBlob::_code_begin"), blobCodeEnd: maybe("CodeBlob::_code_end"),
		blobCodeOffset: maybe("CodeBlob::_code_offset"), blobDataStart: need("CodeBlob::_data_offset"),
		blobRelocation: maybe("CodeBlob::_relocation_size"), blobMutable: maybe("CodeBlob::_mutable_data"), blobMutableSize: maybe("CodeBlob::_mutable_data_size"),
		sizeOfBlock: size("HeapBlock"),

		nmMethod: need("nmethod::_method", "CompiledMethod::_method"), nmLevel: need("nmethod::_comp_level"),
		nmID: need("nmethod::_compile_id"), nmOrigPC: need("nmethod::_orig_pc_offset"),
		nmVerified: maybe("nmethod::_verified_entry_point"), nmVerifiedOffset: maybe("nmethod::_verified_entry_offset"),
		nmMetadata: maybe("nmethod::_metadata_offset"), nmScopesPCs: need("nmethod::_scopes_pcs_offset"), nmPCsEnd: maybe("nmethod::_dependencies_offset"),
		nmScopesBegin: maybe("CompiledMethod::_scopes_data_begin"), nmScopesOffset: maybe("nmethod::_scopes_data_offset"),
		nmImmutable: maybe("nmethod::_immutable_data"), nmImmutableSize: maybe("nmethod::_immutable_data_size"),
		sizeOfNMethod: size("nmethod"),

		methodConst: need("Method::_constMethod"), methodFlags: need("Method::_access_flags"),
		constPool: need("ConstMethod::_constants"), constCodeSize: need("ConstMethod::_code_size"), constFlags: need("ConstMethod::_flags", "ConstMethod::_flags._flags"),
		constMaxStack: need("ConstMethod::_max_stack"),
		constName:     need("ConstMethod::_name_index"), constSignature: need("ConstMethod::_signature_index"),
		poolHolder: need("ConstantPool::_pool_holder"), poolLength: need("ConstantPool::_length"),
		klassName: need("Klass::_name"), symbolLength: need("Symbol::_length"), symbolBody: need("Symbol::_body", "Symbol::_body[0]"),
		sizeOfConst: size("ConstMethod"), sizeOfPool: size("ConstantPool"), sizeOfPC: size("PcDesc"),
		pcOffset: need("PcDesc::_pc_offset"), pcScope: need("PcDesc::_scope_decode_offset"),
		wrapperAnchor: need("JavaCallWrapper::_anchor"),
		anchorSP:      need("JavaFrameAnchor::_last_Java_sp"), anchorFP: maybe("JavaFrameAnchor::_last_Java_fp"), anchorPC: need("JavaFrameAnchor::_last_Java_pc"),
		callStubReturn: need("StubRoutines::_call_stub_return_address"),
		threadList:     maybe("Threads::_thread_list"), threadNext: maybe("JavaThread::_next"),
		threads: maybe("ThreadsSMRSupport::_java_thread_list"), threadsLength: maybe("ThreadsList::_length"), threadsEntries: maybe("ThreadsList::_threads"),
		threadOS: need("JavaThread::_osthread", "Thread::_osthread"), osID: need("OSThread::_thread_id"),
		threadAnchor:  need("JavaThread::_anchor"),
		threadPending: maybe("JavaThread::_current_pending_monitor", "Thread::_current_pending_monitor"), threadObject: need("JavaThread::_threadObj"),
		threadMonitorID: maybe("JavaThread::_monitor_owner_id"), threadStackBase: maybe("JavaThread::_stack_base"), threadStackSize: maybe("JavaThread::_stack_size"),
		threadLocks: maybe("JavaThread::_lock_stack"), locksTop: maybe("LockStack::_top"), locksBase: maybe("LockStack::_base[0]"),
		threadAllocated: maybe("Thread::_allocated_bytes"), threadBuffer: maybe("Thread::_tlab"),
		bufferStart: maybe("ThreadLocalAllocBuffer::_start"), bufferTop: maybe("ThreadLocalAllocBuffer::_top"),
		monitorOwner: maybe("ObjectMonitor::_owner"), monitorObject: maybe("ObjectMonitor::_object"),
		klassPool: need("InstanceKlass::_constants"), klassSuper: maybe("Klass::_super"), klassFields: maybe("InstanceKlass::_fields"), klassFieldStream: maybe("InstanceKlass::_fieldinfo_stream"),
		sizeOfThread: size("JavaThread"),
	}
	for _, name := range []string{"nmethod::_deopt_handler_offset", "nmethod::_deopt_mh_handler_offset", "nmethod::_deopt_handler_entry_offset",
		"nmethod::_deoptimize_offset", "nmethod::_deoptimize_mh_offset"} {
		if f := maybe(name); f != nil {
			l.nmDeopt = append(l.nmDeopt, f)
		}
	}
	for _, name := range []string{"CompiledMethod::_deopt_handler_begin", "CompiledMethod::_deopt_mh_handler_begin"} {
		if f := maybe(name); f != nil {
			l.nmDeopt, l.deoptIsAddress = append(l.nmDeopt, f), true
		}
	}
	switch {
	case missing != "":
	case l.codeHeap == nil && l.codeHeaps == nil:
		missing = "CodeCache::_heaps"
	case l.blobCodeBegin == nil && l.blobCodeOffset == nil:
		missing = "CodeBlob::_code_offset"
	case l.nmScopesBegin == nil && l.nmScopesOffset == nil:
		missing = "nmethod::_scopes_data_offset"
	case l.nmMetadata == nil && l.blobMutable == nil:
		missing = "nmethod::_metadata_offset"
	}
	if missing != "" {
		return nil, fmt.Errorf("this JVM does not publish where it keeps %s, which Sonde's sampler needs", missing)
	}
	l.release = 8 // whose HotSpot has a number of its own
	if l.codeHeap == nil {
		major := need("Abstract_VM_Version::_vm_major_version")
		release, ok := memory.u32(major.address)
		if !ok || release < 9 || release > 1000 {
			return nil, errNoTables
		}
		l.release = int(release)
	}
	return l, nil
}

// A record is a copy of a structure of the process.
type record []byte

// u returns the value of a field; 0 if the release has no such field, or the copy is too short.
func (r record) u(f *field) uint64 {
	if f == nil || f.offset+uint64(f.size) > uint64(len(r)) {
		return 0
	}
	b := r[f.offset:]
	switch f.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// i returns the value of a field that may be negative.
func (r record) i(f *field) int64 {
	v := r.u(f)
	switch {
	case f == nil:
	case f.size == 1:
		return int64(int8(v))
	case f.size == 2:
		return int64(int16(v))
	case f.size == 4:
		return int64(int32(v))
	}
	return int64(v)
}
