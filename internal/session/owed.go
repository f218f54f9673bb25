package session

import (
	"time"
)

// A debt is a class that is to be woven, or woven again, with the next Hook.
type debt struct {
	woven map[uint32]bool // the classes of its name that are done, by handle
	tries int             // how often one that is on its way in was looked for in vain
	due   time.Time       // before that it is not looked for again
}

const (
	// A class on its way in may have to wait for others, or never come: its loader
	// then lost it to another thread. Waits double: all take ten seconds.
	firstRetry = 20 * time.Millisecond
	mostTries  = 9

	notLoaded = "it is not loaded"
)

// owe notes a debt, unless a newer one is there. The lock is held.
func (c *choices) owe(class string, d *debt) {
	if c.owed == nil {
		c.owed = make(map[string]*debt)
	}
	if d.tries == 0 && len(d.woven) == 0 || c.owed[class] == nil {
		c.owed[class] = d
	}
}

// oweLoaded notes a class that has loaded without its hooks; false where none of its
// methods was chosen by name.
func (c *choices) oweLoaded(class string) bool {
	if !c.has(class) {
		return false
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.owe(class, &debt{})
	return true
}

// settle takes a debt away: the class is being woven as it loads.
func (c *choices) settle(class string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.owed, class)
}

// take takes the debts that are due.
func (c *choices) take(now time.Time) map[string]*debt {
	c.lock.Lock()
	defer c.lock.Unlock()
	due := make(map[string]*debt)
	for class, d := range c.owed {
		if !d.due.After(now) {
			due[class] = d
			delete(c.owed, class)
		}
	}
	return due
}

// giveBack notes debts again that could not be settled.
func (c *choices) giveBack(debts map[string]*debt) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for class, d := range debts {
		c.owe(class, d)
	}
}

// owes reports whether there is anything for Hook to do.
func (c *choices) owes(now time.Time) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.reflection && !c.following {
		return true
	}
	for _, d := range c.owed {
		if !d.due.After(now) {
			return true
		}
	}
	return false
}

// Owes reports whether Hook has something to do that was asked for before: a class
// that loaded made hooks necessary in others, or was not found yet. Hook with an
// empty request does it.
func (s *Session) Owes() bool { return s.choices.owes(time.Now()) }

// postpone is what becomes of debts for classes that are on their way in: they are
// tried again, a few times. It gives those to be given up.
func postpone(debts map[string]*debt, done []candidate, now time.Time) (again map[string]*debt, lost []string) {
	again = make(map[string]*debt)
	for class, d := range debts {
		if d.tries == mostTries {
			lost = append(lost, class)
			continue
		}
		next := &debt{woven: make(map[uint32]bool), tries: d.tries + 1, due: now.Add(firstRetry << d.tries)}
		for handle := range d.woven {
			next.woven[handle] = true
		}
		for _, c := range done {
			if c.name == class {
				next.woven[c.handle] = true
			}
		}
		again[class] = next
	}
	return again, lost
}
