package asuser

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// changing is held while a thread has the identity of another user.
var changing sync.Mutex

// As calls fn with the effective identity of a user. Only the calling thread
// has it, a locked one that runs nothing else; where the old identity cannot be
// put on again the thread ends, so no other code ever runs with the wrong one.
//
// What fn gets is the power of that user alone: files it makes are the user's,
// and a socket it connects is the user's to the other side. It must not wait.
func As(uid, gid uint32, fn func() error) error {
	if IsSelf(uid, gid) {
		return fn()
	}
	changing.Lock()
	defer changing.Unlock()
	// A change of identity makes the kernel keep the whole process from being
	// dumped or traced, for good.
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && dumpable == 1 {
		defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) //nolint:errcheck // what it governs is convenience
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		restored, err := onThread(uid, gid, fn)
		if restored {
			runtime.UnlockOSThread()
		}
		result <- err // a goroutine that ends locked takes its thread with it
	}()
	return <-result
}

// onThread changes the identity of this thread, and of no other: the calls of
// package syscall would change them all. The error is of getting there or of fn.
func onThread(uid, gid uint32, fn func() error) (restored bool, err error) {
	oldUID, oldGID := os.Geteuid(), os.Getegid()
	defer func() {
		// The user first: only with the old one may the group be changed.
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
