package asuser

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// changing is held while a thread has the identity of another user.
var changing sync.Mutex

// As calls fn with the effective identity of a user, on a locked thread that runs nothing else. If the old
// identity cannot be restored, the thread ends, so no other code ever runs with the wrong one.
//
// fn has the privileges of that user only: the files that it creates and the sockets that it connects belong
// to the user. It must not block.
func As(uid, gid uint32, fn func() error) error {
	if IsSelf(uid, gid) {
		return fn()
	}
	changing.Lock()
	defer changing.Unlock()
	// After a change of identity the kernel does not allow the process to be dumped or traced any more.
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && dumpable == 1 {
		defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) //nolint:errcheck // it only affects debugging
	}
	return OnThread(func() (restored bool, err error) { return become(uid, gid, fn) })
}

// OnThread calls fn on a locked thread that runs nothing else. If fn does not restore the thread, it ends.
func OnThread(fn func() (restored bool, err error)) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		restored, err := fn()
		if restored {
			runtime.UnlockOSThread()
		}
		result <- err // a goroutine that ends locked takes its thread with it
	}()
	return <-result
}

// become changes the identity of this thread only; the calls of package syscall would change all threads. The
// error is that of the change or of fn.
func become(uid, gid uint32, fn func() error) (restored bool, err error) {
	oldUID, oldGID := os.Geteuid(), os.Getegid()
	defer func() {
		// The user comes first, because only the old user may change the group.
		restored = setEffective(unix.SYS_SETRESUID, oldUID) == nil && setEffective(unix.SYS_SETRESGID, oldGID) == nil
	}()
	if err := setEffective(unix.SYS_SETRESGID, int(gid)); err != nil {
		return false, err
	}
	if err := setEffective(unix.SYS_SETRESUID, int(uid)); err != nil {
		return false, err
	}
	return false, fn()
}

func setEffective(call uintptr, id int) error {
	const unchanged = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(call, unchanged, uintptr(id), unchanged); errno != 0 {
		return os.NewSyscallError("setting the effective user or group", errno)
	}
	return nil
}
