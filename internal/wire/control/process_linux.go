package control

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

var errNoPeer = errors.New("the connection does not tell whose it is: only a Unix socket does")

// FromProcess is a check for Accept: the kernel must say that one process, of
// one user, is at the other end of a Unix socket. It sees the identity the
// caller had when it connected.
func FromProcess(pid int, uid uint32) func(net.Conn) error {
	return func(conn net.Conn) error {
		socket, ok := conn.(*net.UnixConn)
		if !ok {
			return errNoPeer
		}
		raw, err := socket.SyscallConn()
		if err != nil {
			return fmt.Errorf("looking for the caller's process: %w", err)
		}
		var peer *syscall.Ucred
		var peerErr error
		err = raw.Control(func(fd uintptr) {
			peer, peerErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		})
		if err = errors.Join(err, peerErr); err != nil {
			return fmt.Errorf("looking for the caller's process: %w", err)
		}
		if int(peer.Pid) != pid || peer.Uid != uid {
			return &StrangerError{PID: int(peer.Pid), UID: peer.Uid}
		}
		return nil
	}
}
