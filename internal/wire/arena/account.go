package arena

import (
	"fmt"
	"strings"
)

// An Account is what became of the classes of a pack.
type Account struct {
	Woven, Differs, Blind, Failed uint32
	// Left names those that are not woven, as far as there was room. Classes of one name
	// are counted each and named once.
	Left []Unwoven
}

// Unnamed is how many classes are not woven and have no name of their own in the account.
func (a *Account) Unnamed() int {
	return max(0, int(a.Differs)+int(a.Blind)+int(a.Failed)-len(a.Left))
}

// An Unwoven is a class of a pack that is not woven.
type Unwoven struct {
	Why   Unfit
	Class string // internal name
}

// An Unfit is why a class is not woven.
type Unfit string

// Why classes of a pack are not woven.
const (
	Differs Unfit = "differs" // its bytes are not those that were packed
	Blind   Unfit = "blind"   // its loader does not see the hooks
	Failed  Unfit = "failed"
)

// MakeAccount gives the target the room to account for the classes of a pack.
func (a *Arena) MakeAccount() error {
	return a.guard(func(m memory) error {
		if m.u32(headerAccount) != 0 {
			return nil
		}
		ref := m.take(accountSize + layoutAccountText)
		if ref == 0 {
			return ErrFull
		}
		m.put32(headerAccount, ref)
		return nil
	})
}

// Account is what the target has told so far; false where it has no pack.
func (a *Arena) Account() (account Account, has bool, err error) {
	err = a.guard(func(m memory) error {
		ref := m.u32(headerAccount)
		if ref == 0 {
			return nil
		}
		has = true
		at := m.piece(ref, accountSize+layoutAccountText)
		// The text first: what it names is counted before.
		used := uint64(m.u32(at + accountNamesUsed))
		if used > layoutAccountText {
			return fmt.Errorf("%w: its account has %d bytes of text", ErrDamaged, used)
		}
		for line := range strings.Lines(string(m[at+accountSize : at+accountSize+used])) {
			why, class, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch unfit := Unfit(why); unfit {
			case Differs, Blind, Failed:
				account.Left = append(account.Left, Unwoven{unfit, class})
			}
			// Anything else is the rest of a name that has a line feed in it, as the JVM allows.
		}
		account.Woven, account.Differs = m.u32(at+accountWoven), m.u32(at+accountDiffers)
		account.Blind, account.Failed = m.u32(at+accountBlind), m.u32(at+accountFailed)
		return nil
	})
	return account, has, err
}
