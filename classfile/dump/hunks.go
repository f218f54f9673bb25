package dump

import "slices"

// context is how many unchanged lines are shown around a change.
const context = 3

// edit is a line of a diff.
type edit struct {
	mark byte // ' ', '-' or '+'
	line string
}

// unit writes what changed from one text to another, its first line always, so that
// it is known what the change is in.
func (d *differ) unit(a, b []string) {
	if slices.Equal(a, b) {
		return
	}
	if d.changed {
		_ = d.out.WriteByte('\n')
	}
	d.changed = true
	edits := script(a, b)
	show := make([]bool, len(edits))
	show[0] = true
	for i, e := range edits {
		if e.mark != ' ' {
			for k := max(0, i-context); k <= min(len(edits)-1, i+context); k++ {
				show[k] = true
			}
		}
	}
	for i, e := range edits {
		switch {
		case show[i]:
			d.write(e)
		case show[i-1]:
			d.write(edit{' ', "  ..."})
		}
	}
}

func (d *differ) write(e edit) {
	_ = d.out.WriteByte(e.mark)
	_ = d.out.WriteByte(' ')
	_, _ = d.out.WriteString(e.line)
	_ = d.out.WriteByte('\n')
}

// script lists the lines of both texts in order, what is gone before what has come.
func script(a, b []string) []edit {
	edits := make([]edit, 0, len(a)+len(b))
	gone, come := 0, 0 // how many lines of each are written
	upTo := func(nextA, nextB int) {
		for ; gone < nextA; gone++ {
			edits = append(edits, edit{'-', a[gone]})
		}
		for ; come < nextB; come++ {
			edits = append(edits, edit{'+', b[come]})
		}
	}
	for j, match := range align(a, b) {
		if match >= 0 {
			upTo(match, j)
			edits = append(edits, edit{' ', b[j]})
			gone, come = match+1, j+1
		}
	}
	upTo(len(a), len(b))
	return edits
}
