package hotspot

import "golang.org/x/sys/unix"

// ProcessMemory is the memory of a process on this host. Nothing is stopped and nothing is written.
type ProcessMemory struct{ PID int }

// Read fills a buffer from an address of the process.
func (p ProcessMemory) Read(address uint64, into []byte) bool {
	if len(into) == 0 {
		return true
	}
	local := []unix.Iovec{{Base: &into[0]}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(p.PID, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}, 0)
	return err == nil && n == len(into)
}
