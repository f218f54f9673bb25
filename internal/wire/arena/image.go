package arena

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The sizes of arenas that a target creates for itself.
const (
	imageLength = 1 << 30 // sparse: only the used part is allocated
	imageRoom   = 1 << 20 // allocated at first, after the image
	imagePage   = 4096
)

// An Image is the beginning of an arena that a target creates for itself. It has no owner: the target fills it in at the
// places.
type Image struct {
	Bytes  []byte // of the file; the rest is zero
	Length int64  // of the file
	Limit  int64  // how much of it is allocated at first
	Places Places
}

// Places are the offsets of the fields that a target writes, in bytes from the beginning of the arena. Those of the account
// differ between images.
type Places struct {
	Length, Limit, Next        uint32 // u64 each
	Epoch, TargetPID           uint32 // u32
	TargetStart, OpenedWall    uint32 // u64
	SondePID, Stop             uint32 // u32
	CommandLength              uint32 // u32
	Command, CommandMost       uint32 // bytes, and how many there can be
	Woven, Differs, Blind      uint32 // u32
	Failed, NamesUsed          uint32 // u32
	AccountText, AccountedMost uint32 // bytes, and how many there can be
}

// NewImage returns the image of an arena in which these methods have hooks.
func NewImage(methods []Method) (*Image, error) {
	names := 0
	for _, method := range methods {
		names += len(method.Name) + len("4294967295\t\n")
	}
	spill := 256 * uint64(max(len(methods), 64)) // more than the table has: see MakeSpill
	room := headerSize + directorySize + uint64(names) + spill + layoutArrivals*arrivalSize + layoutAccountText + imagePage
	a := &Arena{memory: make(memory, room)}
	if err := a.begin(int64(room), 0, Owner{Opened: time.Unix(0, 0)}); err != nil {
		return nil, err
	}
	// Nonzero parts come first, so that the image ends with the head of the spill table.
	err := errors.Join(a.Describe(methods), a.MakeSpill(len(methods)), a.MakeArrivals(), a.MakeAccount())
	if err != nil {
		return nil, err
	}
	return a.image()
}

func (a *Arena) image() (*Image, error) {
	m := a.memory
	limit := (m.u64(headerNext) + imageRoom + imagePage - 1) / imagePage * imagePage
	if limit > imageLength {
		return nil, fmt.Errorf("%w: names of methods take %d bytes", ErrFull, m.u64(headerNext))
	}
	m.put64(headerLength, imageLength)
	m.put64(headerLimit, limit)
	account := m.u32(headerAccount) * layoutUnit
	return &Image{
		Bytes:  m[:uint64(m.u32(headerSpill))*layoutUnit+spillSize],
		Length: imageLength,
		Limit:  int64(limit),
		Places: Places{
			Length: headerLength, Limit: headerLimit, Next: headerNext,
			Epoch: headerEpoch, TargetPID: headerTargetPid,
			TargetStart: headerTargetStart, OpenedWall: headerOpenedWall,
			SondePID: headerSondePid, Stop: headerStop,
			CommandLength: headerCommandLength, Command: headerCommand, CommandMost: commandMost,
			Woven: account + accountWoven, Differs: account + accountDiffers, Blind: account + accountBlind,
			Failed: account + accountFailed, NamesUsed: account + accountNamesUsed,
			AccountText: account + accountSize, AccountedMost: layoutAccountText,
		},
	}, nil
}

// An Account counts the classes of a pack by their outcome.
type Account struct {
	Woven, Differs, Blind, Failed uint32
	// Left lists the classes that are not woven, as far as there was room. Several classes of one name are
	// listed once.
	Left []Unwoven
}

// An Unwoven is a class of a pack that is not woven.
type Unwoven struct {
	Why   Unfit
	Class string // internal name
}

// An Unfit is the reason why a class is not woven.
type Unfit string

// The reasons.
const (
	Differs Unfit = "differs" // its bytes differ from the packed ones
	Blind   Unfit = "blind"   // its loader cannot find the hook classes
	Failed  Unfit = "failed"
)

// MakeAccount reserves the account of the classes of a pack.
func (a *Arena) MakeAccount() error { return a.reserve(headerAccount, accountSize+layoutAccountText) }

// Account returns the account so far; false if the target has no pack.
func (a *Arena) Account() (account Account, has bool, err error) {
	err = a.guard(func(m memory) error {
		ref := m.u32(headerAccount)
		if ref == 0 {
			return nil
		}
		has = true
		at := m.piece(ref, accountSize+layoutAccountText)
		// The text is read first, because the target counts a class before it lists it.
		used := uint64(m.u32(at + accountNamesUsed))
		if used > layoutAccountText {
			return fmt.Errorf("%w: its list of classes without hooks has %d bytes, too many", ErrDamaged, used)
		}
		for line := range strings.Lines(string(m[at+accountSize : at+accountSize+used])) {
			why, class, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch unfit := Unfit(why); unfit {
			case Differs, Blind, Failed:
				account.Left = append(account.Left, Unwoven{unfit, class})
			}
			// Anything else is the rest of a name with a line feed, which the JVM allows.
		}
		account.Woven, account.Differs = m.u32(at+accountWoven), m.u32(at+accountDiffers)
		account.Blind, account.Failed = m.u32(at+accountBlind), m.u32(at+accountFailed)
		return nil
	})
	return account, has, err
}
