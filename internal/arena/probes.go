package arena

import (
	"fmt"
	"math/bits"
)

// Flags say what a hook does.
type Flags uint8

// The flags; a hook without On does nothing.
const (
	On      Flags = layoutOn
	Timed   Flags = layoutTimed   // every call is timed
	Sampled Flags = layoutSampled // one call in Period is timed
	Root    Flags = layoutRoot    // opens the context
	Inside  Flags = layoutInside  // acts only inside the context
	Flat    Flags = layoutFlat    // no calling context is kept

	// Discover has a call that acts wait until Sonde has answered it, so that its
	// callees have hooks when it goes on.
	Discover Flags = layoutDiscover
)

// A Probe is the setting of a method's hook.
type Probe struct {
	ID     uint32
	Flags  Flags
	Period uint32 // of Sampled
}

// Setting is the probe without its id, as hooks read it.
func (p Probe) Setting() uint32 { return p.Period<<layoutPeriodShift | uint32(p.Flags) }

// Entry is the probe as a switch table has it.
func (p Probe) Entry() (uint64, error) {
	if ReservedID(p.ID) || p.Period >= 1<<(32-layoutPeriodShift-1) {
		return 0, fmt.Errorf("a probe of id %d and period %d is not possible", p.ID, p.Period)
	}
	return uint64(p.ID)<<32 | uint64(p.Setting()), nil
}

// ReservedID tells ids that no method may have. A ref of 0 leads the hooks to the
// header, whose first word must then not look like an id.
func ReservedID(id uint32) bool {
	return id == 0 || id == CalibrationID || id == AdjustmentID || id == layoutMagic&0xffffffff
}

// SwitchTable is the table by which hooks find their settings: open addressing
// by id, as SondeHooks.enter reads it. At most a half is used, so that a search
// is short and always ends. One that is not empty has an entry, off, for the
// calls made to calibrate: the agent switches it on while it makes them.
func SwitchTable(probes []Probe) ([]uint64, error) {
	if len(probes) == 0 {
		return nil, nil
	}
	table := make(switchTable, 1<<bits.Len(uint(2*len(probes)+1)))
	for _, probe := range probes {
		if _, err := probe.Entry(); err != nil {
			return nil, err
		}
		if !table.add(probe) {
			return nil, fmt.Errorf("two methods have the id %d", probe.ID)
		}
	}
	table.add(Probe{ID: CalibrationID})
	return table, nil
}

type switchTable []uint64

// add is false where an id is there already.
func (t switchTable) add(probe Probe) bool {
	mask := uint32(len(t) - 1)
	at := probe.ID & mask
	for t[at] != 0 {
		if uint32(t[at]>>32) == probe.ID {
			return false
		}
		at = (at + 1) & mask
	}
	t[at] = uint64(probe.ID)<<32 | uint64(probe.Setting())
	return true
}
