package cache

// AppendDescription appends all that is known of an entry but its woven class, as files
// of entries have it, for those that keep entries in files of another kind.
func (e *Entry) AppendDescription(dst []byte) []byte {
	w := writer{dst}
	w.entry(e)
	return w.b
}

// ReadDescription reads what AppendDescription wrote, all of it. The error is an
// *EntryError without a path.
func ReadDescription(text string) (*Entry, error) {
	r := reader{rest: text}
	e := new(Entry)
	r.entry(e)
	if err := r.end(); err != nil {
		return nil, err
	}
	return e, nil
}

// end is the error of a description that was read.
func (r *reader) end() error {
	if len(r.rest) > 0 {
		r.fail("there is something behind its end")
	}
	if r.failed != "" {
		return &EntryError{Kind: ErrDamaged, Detail: "its description: " + r.failed}
	}
	return nil
}
