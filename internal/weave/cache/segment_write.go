package cache

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"slices"
)

// A segmentWriter writes a segment.
type segmentWriter struct {
	to    *bufio.Writer
	size  int64
	most  int64
	rows  []segmentRow
	known map[Key]bool // entries that are in it
}

type segmentRow struct {
	name   Key
	start  keyStart
	offset int64
	length uint32
	hour   uint32
}

// add adds an entry with its names, if there is room and it is not there already.
func (w *segmentWriter) add(e named, file []byte, hour uint32) error {
	if w.known[e.key] || w.size+int64(len(file))+rowSize*int64(len(w.rows)+2)+int64(tailSize) > w.most {
		return nil
	}
	w.known[e.key] = true
	row := segmentRow{e.key, e.key.start(), w.size, uint32(len(file)), hour}
	w.rows = append(w.rows, row)
	if e.hasAlias {
		row.name = e.alias
		w.rows = append(w.rows, row)
	}
	return w.write(file)
}

func (w *segmentWriter) write(b []byte) error {
	n, err := w.to.Write(b)
	w.size += int64(n)
	return err
}

// finish writes what leads to the entries.
func (w *segmentWriter) finish() error {
	slices.SortFunc(w.rows, func(a, b segmentRow) int { return bytes.Compare(a.name[:], b.name[:]) })
	index := make([]byte, 0, rowSize*len(w.rows)+tailSize)
	var fan [257]uint32
	for _, r := range w.rows {
		index = append(index, r.name[:]...)
		index = append(index, r.start[:]...)
		index = binary.LittleEndian.AppendUint64(index, uint64(r.offset))
		index = binary.LittleEndian.AppendUint32(index, r.length)
		index = binary.LittleEndian.AppendUint32(index, r.hour)
		fan[int(r.name[0])+1]++
	}
	before := uint32(0)
	for _, n := range fan {
		before += n
		index = binary.LittleEndian.AppendUint32(index, before)
	}
	index = append(index, segmentMagic...)
	if err := w.write(index); err != nil {
		return err
	}
	return w.to.Flush()
}
