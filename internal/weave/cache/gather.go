package cache

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// segmentBound is how much of the cache a segment may take.
func (d *Disk) segmentBound(which int) int64 { return d.bound / [...]int64{large: 8, small: 16}[which] }

// Gather puts the entries that this process had to read or keep one by one into a segment:
// into the small one, with what that has, as long as that is small beside the large one;
// else all become one large one. So an entry is written again a few times at most. Who
// uses the cache calls it when nobody waits. That it fails harms none; the error says why.
func (d *Disk) Gather(ctx context.Context) error {
	entries := d.loose.list()
	if d.isFixed || len(entries) == 0 {
		return nil
	}
	d.renewNow()
	var rows [2]int
	for which := range rows {
		s, err := d.segment(which)
		if err != nil {
			return err
		}
		if s != nil {
			s.writeNotes(hourOf(d.now()))
			rows[which] = s.count()
		}
	}
	const names, share = 2, 8
	into := small
	if names*len(entries)+rows[small] > rows[large]/share {
		into = large
	}
	if err := d.gather(ctx, into, entries); err != nil {
		return err
	}
	d.loose.remove(entries)
	d.renewNow()
	return nil
}

// gather is done by one at a time; for others the cache is busy.
func (d *Disk) gather(ctx context.Context, into int, entries []named) error {
	unlock, err := d.lockEvict()
	if err != nil {
		return err
	}
	defer unlock()
	fresh, fd, err := d.createFresh()
	if err != nil {
		return d.explain("writing", err)
	}
	file := os.NewFile(uintptr(fd), fresh.name)
	w := segmentWriter{to: bufio.NewWriterSize(file, 256<<10), most: d.segmentBound(into), known: make(map[Key]bool)}
	err = d.gatherLoose(ctx, &w, entries)
	for from := small; from >= into && err == nil; from-- {
		err = d.gatherOld(ctx, &w, from)
	}
	if err == nil {
		err = w.finish()
	}
	if err = errors.Join(err, file.Close()); err != nil && ctx.Err() == nil {
		err = d.explain("writing "+segmentFiles[into], err)
	}
	if err == nil {
		_, err = d.publish(ctx, segmentFiles[into], fresh, blocks(w.size))
	}
	if errors.Is(err, errNoRoom) {
		err = ErrBusy // with other things
	}
	if err != nil {
		fresh.remove()
		return err
	}
	if into == small {
		return nil
	}
	return d.holding(ctx, func() error {
		_, err := d.removeSegment(segmentFiles[small]) // the large one has all of it
		return err
	})
}

func (d *Disk) gatherLoose(ctx context.Context, w *segmentWriter, entries []named) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if file := d.fileOf(e.key); file != nil {
			if err := w.add(e, file, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// gatherOld adds entries of a segment that there is, those that were of use last, if
// they still have files of their own: else room was made of them.
func (d *Disk) gatherOld(ctx context.Context, w *segmentWriter, which int) error {
	old, err := d.openSegment(which)
	if old == nil {
		return err
	}
	defer func() { _ = unix.Close(old.fd) }() // only read
	for _, s := range old.entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		file := old.file(s.on, s.n)
		if _, _, err := open(s.key, file); err != nil {
			continue
		}
		if unix.Faccessat(d.root, pathOf(s.key), unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		if err := w.add(s.named, file, s.hour); err != nil {
			return err
		}
	}
	return nil
}

// A shelved is an entry of a segment, and where its row is.
type shelved struct {
	named
	on   *shelf
	n    int
	hour uint32
}

// entries are all of a segment, those first that were of use last.
func (s *segment) entries() (all []shelved) {
	hours := s.hours()
	aliases := make(map[keyStart]Key)
	s.each(func(h *shelf, n int) {
		name := Key(h.name(n))
		if start := h.start(n); name.start() == start {
			all = append(all, shelved{named{key: name}, h, n, hours[start]})
		} else {
			aliases[start] = name
		}
	})
	for i := range all {
		all[i].alias, all[i].hasAlias = aliases[all[i].key.start()]
	}
	slices.SortStableFunc(all, func(a, b shelved) int { return cmp.Compare(b.hour, a.hour) })
	return all
}

// fileOf reads the file of an entry, if that is whole and this user's; else it is nil.
func (d *Disk) fileOf(key Key) []byte {
	if d.look(key[0]) != nil {
		return nil
	}
	path := pathOf(key)
	fd, err := openAt(d.root, path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var stat unix.Stat_t
	file, err := d.readFile(fd, &stat, path)
	if err != nil || stat.Uid != d.trust.self {
		return nil
	}
	if _, _, err := open(key, file); err != nil {
		return nil
	}
	return file
}
