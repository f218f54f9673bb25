package control

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

var errNoPeer = errors.New("the process at the other end of the connection is unknown: only a Unix socket provides it")

// FromProcess returns a check for Accept: the other end of a Unix socket must be the given process
// and user. The kernel reports the identity that the caller had when it connected.
func FromProcess(pid int, uid uint32) func(net.Conn) error {
	return func(conn net.Conn) error {
		socket, ok := conn.(*net.UnixConn)
		if !ok {
			return errNoPeer
		}
		raw, err := socket.SyscallConn()
		if err != nil {
			return fmt.Errorf("finding the process that connected: %w", err)
		}
		var peer *syscall.Ucred
		var peerErr error
		err = raw.Control(func(fd uintptr) {
			peer, peerErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		})
		if err = errors.Join(err, peerErr); err != nil {
			return fmt.Errorf("finding the process that connected: %w", err)
		}
		if int(peer.Pid) != pid || peer.Uid != uid {
			return &StrangerError{PID: int(peer.Pid), UID: peer.Uid}
		}
		return nil
	}
}
