package session

// answers tells questions of the agent apart that came too late to be answered.
// The agent says once, for each, that no answer came; what it leaves alone by that
// may be woven by then, or about to be, and must count as woven no longer, but other
// classes of the same name must.
type answers struct {
	open     int // questions that are being answered
	given    int // of those, for how many the agent no longer waits, as it said
	expected int // answered too late, of which the agent has not said so yet
}

// begin notes a question about a class.
func (b *book) begin(class string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	a.open++
	b.answers[class] = a
}

// end notes that a question is answered. It reports whether that is too late.
func (b *book) end(class string, isOver bool) (isLate bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	a.open--
	switch {
	case a.given > 0:
		a.given--
		isLate = true
	case isOver:
		a.expected++
		isLate = true
	}
	b.keep(class, a)
	return isLate
}

// missed notes what the agent says: that no answer came. It reports whether the
// answer was given, and came too late only on its way.
func (b *book) missed(class string) (wasGiven bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	a := b.answers[class]
	switch {
	case a.expected > 0:
		a.expected--
	case a.open > a.given:
		a.given++
	default:
		wasGiven = true
	}
	b.keep(class, a)
	return wasGiven
}

func (b *book) keep(class string, a answers) {
	if a == (answers{}) {
		delete(b.answers, class)
		return
	}
	b.answers[class] = a
}
