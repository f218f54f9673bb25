package process

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mostSockets bounds how much of a table of sockets is read, in bytes.
const mostSockets = 4 << 20

// IOTarget returns what a thread reads from or writes to at this moment: the address of the other side of a connection, or the
// name of a file; "" if the thread does neither, or if that cannot be known.
func (h Host) IOTarget(pid, thread int) string {
	text, err := os.ReadFile(h.Path(pid, fmt.Sprintf("task/%d/syscall", thread)))
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
	memory, err := os.Open(h.Path(pid, "mem"))
	if err != nil {
		return 0, false
	}
	defer func() { _ = memory.Close() }()
	var number [4]byte
	if address > 1<<62 {
		return 0, false
	}
	if _, err := memory.ReadAt(number[:], int64(address)); err != nil {
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
		file, err := os.Open(h.Path(pid, table))
		if err != nil {
			continue
		}
		peer := peerOf(io.LimitReader(file, mostSockets), inode)
		_ = file.Close()
		if peer != "" {
			return peer
		}
	}
	return ""
}

// peerOf returns the address of the other side of a connection in a table of /proc; "" if it is not there.
func peerOf(table io.Reader, inode string) string {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
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
