package arena

import (
	"fmt"
	"time"
)

// How long arenas are that a target makes for itself.
const (
	imageLength = 1 << 30 // and sparse: only what is used is ever allocated
	imageRoom   = 1 << 20 // allocated at first, behind all that the image has
	imagePage   = 4096
)

// An Image is how an arena begins that a target makes for itself. It says nothing of
// whose it is: the target puts that in, by the places.
type Image struct {
	Bytes  []byte // of the file; what comes behind them is zero
	Length int64  // how long the file is
	Limit  int64  // how much of it is to be allocated first
	Places Places
}

// Places are where a target finds what it writes, in bytes from the arena's beginning.
// The account's are those of the image at hand.
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

// NewImage makes the image of an arena in which these methods have hooks.
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
	// What is not zero comes first, so that the image ends with the head of the spill table.
	if err := a.Describe(methods); err != nil {
		return nil, err
	}
	if err := a.MakeSpill(len(methods)); err != nil {
		return nil, err
	}
	if err := a.MakeArrivals(); err != nil {
		return nil, err
	}
	if err := a.MakeAccount(); err != nil {
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
