package hotspot

import "golang.org/x/sys/unix"

// ProcessMemory is the memory of a process on this host. Nothing is stopped and nothing is written.
type ProcessMemory struct{ PID int }

// Read fills a buffer from an address of the process.
func (p ProcessMemory) Read(address uint64, into []byte) bool {
	return p.ReadAll([]Part{{address, into}})
}

// ReadAll fills several buffers with one system call.
func (p ProcessMemory) ReadAll(parts []Part) bool {
	local, remote, size := make([]unix.Iovec, 0, len(parts)), make([]unix.RemoteIovec, 0, len(parts)), 0
	for _, part := range parts {
		if len(part.Into) == 0 {
			continue
		}
		local = append(local, unix.Iovec{Base: &part.Into[0]})
		local[len(local)-1].SetLen(len(part.Into))
		remote = append(remote, unix.RemoteIovec{Base: uintptr(part.Address), Len: len(part.Into)})
		size += len(part.Into)
	}
	if size == 0 {
		return true
	}
	n, err := unix.ProcessVMReadv(p.PID, local, remote, 0)
	return err == nil && n == size
}
