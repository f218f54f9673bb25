package asuser

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// changing is held while a thread has the identity of another user.
var changing sync.Mutex

// As calls fn with the effective identity of a user, on a locked thread that runs nothing else. If the old
// identity cannot be restored, the thread ends, so no other code ever runs with the wrong one.
//
// fn has the privileges of that user and its groups only: the files that it creates and the sockets that it
// connects belong to the user. It must not block.
func As(u User, fn func() error) error {
	if IsSelf(u.UID, u.GID) {
		return fn()
	}
	changing.Lock()
	defer changing.Unlock()
	// After a change of identity the kernel does not allow the process to be dumped or traced any more.
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && dumpable == 1 {
		defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) //nolint:errcheck // it only affects debugging
	}
	return OnThread(func() (restored bool, err error) { return become(u, fn) })
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
func become(u User, fn func() error) (restored bool, err error) {
	oldUID, oldGID := os.Geteuid(), os.Getegid()
	oldGroups, err := groups()
	if err != nil {
		return true, err
	}
	defer func() {
		// The user comes first, because only the old user may change groups.
		restored = setEffective(unix.SYS_SETRESUID, oldUID) == nil && setEffective(unix.SYS_SETRESGID, oldGID) == nil && setGroups(oldGroups) == nil
	}()
	if err := setGroups(u.Groups); err != nil {
		return false, err
	}
	if err := setEffective(unix.SYS_SETRESGID, int(u.GID)); err != nil {
		return false, err
	}
	if err := setEffective(unix.SYS_SETRESUID, int(u.UID)); err != nil {
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

// groups returns the supplementary groups of this thread.
func groups() (list []uint32, err error) {
	ids, err := unix.Getgroups()
	for _, id := range ids {
		list = append(list, uint32(id))
	}
	return list, err
}

// setGroups does nothing if the groups are right, because some containers forbid any change.
func setGroups(list []uint32) error {
	if now, err := groups(); err == nil && slices.Equal(now, list) {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0); errno != 0 {
		return os.NewSyscallError("setting the supplementary groups", errno)
	}
	return nil
}
