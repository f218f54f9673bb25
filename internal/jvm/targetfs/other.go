//go:build !linux

package targetfs

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Foothold needs Linux: elsewhere none can be made.
type Foothold struct{}

// A Jar is the agent's jar in the target's file system.
type Jar struct{ Path, Remark string }

// A Listener accepts the target's agent.
type Listener struct {
	net.Listener
	Socket string
	Port   int
}

// An Arena is a file that the target and Sonde map.
type Arena struct {
	Path string
	File *os.File
	Size int64
}

// DefaultArenaSize is large enough for any session.
const DefaultArenaSize = 1 << 30

// Make needs Linux.
func Make(*process.JVM) (*Foothold, error) { return nil, errors.ErrUnsupported }

// WriteSession needs Linux.
func (f *Foothold) WriteSession(s Session) (string, error) {
	_, err := s.encode()
	return "", errors.Join(err, errors.ErrUnsupported)
}

// PlaceJar needs Linux.
func (f *Foothold) PlaceJar([]byte) (*Jar, error) { return nil, errors.ErrUnsupported }

// Loads needs Linux.
func (f *Foothold) Loads(*Jar) error { return errors.ErrUnsupported }

// Listen needs Linux.
func (f *Foothold) Listen() (*Listener, error) { return nil, errors.ErrUnsupported }

// ListenUnix needs Linux.
func (f *Foothold) ListenUnix() (*Listener, error) { return nil, errors.ErrUnsupported }

// ListenLoopback needs Linux.
func (f *Foothold) ListenLoopback() (*Listener, error) { return nil, errors.ErrUnsupported }

// Arena needs Linux.
func (f *Foothold) Arena(_, _ int64) (*Arena, error) { return nil, errors.ErrUnsupported }

// Invite needs Linux.
func (f *Foothold) Invite(context.Context, string) error { return errors.ErrUnsupported }

// LetGo needs Linux.
func LetGo(*process.JVM) (bool, error) { return false, errors.ErrUnsupported }

// Remove needs Linux.
func (f *Foothold) Remove() error { return errors.ErrUnsupported }

// Grow needs Linux.
func (a *Arena) Grow(int64) error { return errors.ErrUnsupported }

// Allocated needs Linux.
func (a *Arena) Allocated() int64 { return 0 }

// Sweep needs Linux.
func Sweep(context.Context, process.Host) ([]string, error) { return nil, errors.ErrUnsupported }
