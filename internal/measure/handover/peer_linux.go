package handover

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf is the process and user at the other end, by the word of the kernel.
func peerOf(conn *net.UnixConn) (pid int, uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var peer *unix.Ucred
	var asking error
	err = raw.Control(func(fd uintptr) {
		peer, asking = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, asking); err != nil {
		return 0, 0, fmt.Errorf("looking who is at the other end: %w", err)
	}
	return int(peer.Pid), peer.Uid, nil
}
