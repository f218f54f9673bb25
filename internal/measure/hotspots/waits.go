package hotspots

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// waits are native methods in which threads wait, whatever else they do: for
// events, connections, other threads, processes. What may as well work, as
// reading does, is not here: processor time tells.
var waits = map[string][]string{
	"java/lang/Object":                        {"wait", "wait0"},
	"java/lang/Thread":                        {"sleep", "sleep0", "sleepNanos0", "yield0"},
	"java/lang/ref/Reference":                 {"waitForReferencePendingList"},
	"java/lang/ProcessHandleImpl":             {"waitForProcessExit0"},
	"java/lang/UNIXProcess":                   {"waitForProcessExit"},
	"java/net/PlainSocketImpl":                {"socketAccept"},
	"java/net/PlainDatagramSocketImpl":        {"receive0", "peekData"},
	"jdk/internal/misc/Unsafe":                {"park"},
	"sun/misc/Unsafe":                         {"park"},
	"sun/nio/ch/EPoll":                        {"wait"},
	"sun/nio/ch/EPollArrayWrapper":            {"epollWait"},
	"sun/nio/ch/EPollPort":                    {"epollWait"},
	"sun/nio/ch/Net":                          {"poll", "accept", "pollConnect"},
	"sun/nio/ch/ServerSocketChannelImpl":      {"accept0"},
	"sun/nio/fs/LinuxWatchService":            {"poll"},
	"io/netty/channel/epoll/Native":           {"epollWait", "epollWait0", "epollBusyWait0"},
	"io/netty/channel/uring/Native":           {"ioUringEnter"},
	"io/netty/incubator/channel/uring/Native": {"ioUringEnter"},
}

// IsWait tells whether a method is known to wait. Shaded copies of a library
// count as the library.
func IsWait(m *jfr.Method) bool {
	if m == nil {
		return false
	}
	for _, name := range waits[m.Class] {
		if m.Name == name {
			return true
		}
	}
	if at := strings.Index(m.Class, "/io/netty/"); at >= 0 {
		return IsWait(&jfr.Method{Class: m.Class[at+1:], Name: m.Name})
	}
	return false
}
