package process

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// IOTarget returns what a thread reads from or writes to at this moment: the address of the other side of a connection, or the
// name of a file; "" if the thread does neither, or if that cannot be known.
func (h Host) IOTarget(pid, thread int) string {
	text, err := h.Read(pid, fmt.Sprintf("task/%d/syscall", thread))
	if err != nil {
		return ""
	}
	call, ok := parseSystemCall(string(text))
	if !ok {
		return ""
	}
	file := call.first
	switch {
	case isPoll[call.number]:
		if file, ok = h.polled(pid, call.first); !ok {
			return ""
		}
	case !hasFile[call.number]:
		return ""
	}
	return h.openFile(pid, int32(file))
}

// A systemCall is what a thread asks the kernel for.
type systemCall struct{ number, first uint64 }

// parseSystemCall reads a line of /proc: the number of the call and its arguments.
func parseSystemCall(line string) (c systemCall, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return c, false // "running"
	}
	var err error
	if c.number, err = strconv.ParseUint(fields[0], 10, 64); err != nil {
		return c, false // it waits in no call
	}
	c.first, err = strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
	return c, err == nil
}

// hasFile are the calls whose first argument is an open file, and isPoll those for which it is a list of such files.
var (
	hasFile = setOf(unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_RECVFROM, unix.SYS_SENDTO,
		unix.SYS_RECVMSG, unix.SYS_SENDMSG, unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	isPoll = setOf(append(otherPolls, unix.SYS_PPOLL)...)
)

func setOf(numbers ...uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(numbers))
	for _, n := range numbers {
		set[n] = true
	}
	return set
}

// polled returns the first file of a list in the memory of a process.
func (h Host) polled(pid int, address uint64) (file uint64, ok bool) {
	if address == 0 || address > 1<<62 {
		return 0, false
	}
	var number [4]byte
	local := unix.Iovec{Base: &number[0], Len: uint64(len(number))}
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(number)}}, 0)
	if err != nil || n != len(number) {
		return 0, false
	}
	return uint64(binary.NativeEndian.Uint32(number[:])), true
}

// openFile names an open file of a process.
func (h Host) openFile(pid int, number int32) string {
	name, err := os.Readlink(h.Path(pid, fmt.Sprintf("fd/%d", number)))
	if err != nil {
		return ""
	}
	inode, isSocket := strings.CutPrefix(name, "socket:[")
	if !isSocket {
		return name
	}
	inode = strings.TrimSuffix(inode, "]")
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		sockets, err := h.Read(pid, table)
		if err != nil {
			continue
		}
		peer := peerOf(string(sockets), inode)
		if peer != "" {
			return peer
		}
	}
	return ""
}

// peerOf returns the address of the other side of a connection in a table of /proc; "" if it is not there.
func peerOf(table, inode string) string {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[9] == inode {
			return parseAddress(fields[2])
		}
	}
	return ""
}

// parseAddress reads an address of a table of sockets: words in the byte order of the machine, and a port.
func parseAddress(text string) string {
	host, portText, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(host)
	port, failed := strconv.ParseUint(portText, 16, 16)
	if err != nil || failed != nil || len(bytes) != 4 && len(bytes) != 16 {
		return ""
	}
	for word := 0; word < len(bytes); word += 4 {
		binary.NativeEndian.PutUint32(bytes[word:], binary.BigEndian.Uint32(bytes[word:]))
	}
	address, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(address.Unmap(), uint16(port)).String()
}
