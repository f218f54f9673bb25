package cache

import (
	"crypto/rand"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// A workbench is the directory in which a process writes what is not an entry yet. It is
// locked as long as the process lives: one that is not belongs to nobody any more.
type workbench struct {
	mu   sync.Mutex
	fd   int // 0 until it is needed
	name string
}

// openWorkbench gives the directory of this process, and makes it first.
func (d *Disk) openWorkbench() (int, error) {
	b := &d.workbench
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.fd == 0 {
		name := freshDir + "/" + rand.Text()
		if err := unix.Mkdirat(d.root, name, 0o700); err != nil {
			return 0, err
		}
		fd, isMine, err := d.claim(name)
		if err != nil {
			return 0, err
		}
		// Another may have cleared it away before it was locked.
		if isMine {
			b.fd, b.name = fd, name
		}
	}
	return b.fd, nil
}

// claim locks a directory that was just made; false where another was faster.
func (d *Disk) claim(name string) (fd int, isMine bool, err error) {
	fd, err = openAt(d.root, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	isMine, err = tryLock(fd)
	if err == nil && isMine {
		var stat unix.Stat_t
		isMine = unix.Fstatat(d.root, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	if err != nil || !isMine {
		_ = unix.Close(fd) // only read
	}
	return fd, isMine, err
}

// closeWorkbench leaves the directory, and removes it if nothing is in it.
func (d *Disk) closeWorkbench() error {
	b := &d.workbench
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd == 0 {
		return nil
	}
	_ = unix.Unlinkat(d.root, b.name, unix.AT_REMOVEDIR) // else another clears it away
	err := unix.Close(b.fd)
	b.fd = 0
	return err
}

// writeFresh writes a file that is not an entry yet.
func (d *Disk) writeFresh(file []byte) (freshFile, error) {
	f, fd, err := d.createFresh()
	if err != nil {
		return f, err
	}
	if err = errors.Join(writeAll(fd, file), unix.Close(fd)); err != nil {
		f.remove()
	}
	return f, err
}

// createFresh makes a file that is not an entry yet, and is open to be written.
func (d *Disk) createFresh() (f freshFile, fd int, err error) {
	f, fd, err = d.createFreshPrivate()
	if err != nil || d.sharing == Private {
		return f, fd, err
	}
	if err = unix.Fchmod(fd, uint32(d.sharing.fileMode().Perm())); err != nil { // whatever the umask
		_ = unix.Close(fd) // nothing was written
		f.remove()
	}
	return f, fd, err
}

// createFreshPrivate is createFresh of a file that is never shared.
func (d *Disk) createFreshPrivate() (f freshFile, fd int, err error) {
	dir, err := d.openWorkbench()
	if err != nil {
		return freshFile{}, -1, err
	}
	f = freshFile{dir, rand.Text()}
	fd, err = openAt(dir, f.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, Private.fileMode())
	return f, fd, err
}

// freshFile is a file that is not an entry yet.
type freshFile struct {
	dir  int
	name string
}

func (f freshFile) remove() { _ = unix.Unlinkat(f.dir, f.name, 0) }

// sweep removes what processes left unfinished that are no more. That it cannot harms
// none.
func (d *Disk) sweep() {
	all, _ := d.names(freshDir)
	for _, name := range all {
		name = freshDir + "/" + name
		fd, err := openAt(d.root, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			continue
		}
		if got, err := tryLock(fd); got && err == nil {
			files, _ := d.names(name)
			for _, file := range files {
				_ = unix.Unlinkat(fd, file, 0)
			}
			_ = unix.Unlinkat(d.root, name, unix.AT_REMOVEDIR)
		}
		_ = unix.Close(fd) // only read
	}
}

// Unfinished is how many files are being written, or were when their process ended.
func (d *Disk) Unfinished() (n int) {
	all, _ := d.names(freshDir)
	for _, name := range all {
		files, _ := d.names(freshDir + "/" + name)
		n += len(files)
	}
	return n
}
