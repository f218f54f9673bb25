package trace

// recent is a set of numbers that forgets the oldest.
type recent struct {
	most  int
	in    map[uint64]struct{}
	order []uint64 // a ring once it is full
	next  int
}

func (r *recent) has(id uint64) bool {
	_, is := r.in[id]
	return is
}

func (r *recent) add(id uint64) {
	if r.has(id) {
		return
	}
	if r.in == nil {
		r.in = map[uint64]struct{}{}
	}
	if len(r.order) < r.most {
		r.order = append(r.order, id)
	} else {
		delete(r.in, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % r.most
	}
	r.in[id] = struct{}{}
}
