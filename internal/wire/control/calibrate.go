package control

// What the calls do that hooks are calibrated by.
const (
	BodyEmpty       uint8 = iota
	BodyDependent         // a chain of steps, each call's going on from the one before
	BodyIndependent       // the same steps, but a processor may begin a call before the last has ended
	BodyNested            // a chain of steps, then one call of BodyDependent; the outer calls are measured
)

// A Calibration asks for calls with hooks and without: rounds u32, setting u32,
// body u8, steps u32.
type Calibration struct {
	Rounds  uint32 // calls of each kind in a run
	Setting uint32 // of the hooks, as arena.Probe.Setting gives it
	Body    uint8
	Steps   uint32 // of the body; one takes about two nanoseconds
}

func (k Calibration) append(dst []byte) []byte {
	dst = append(appendU32(appendU32(dst, k.Rounds), k.Setting), k.Body)
	return appendU32(dst, k.Steps)
}

func (k *Calibration) read(c *cursor) {
	k.Rounds, k.Setting, k.Body, k.Steps = c.u32(), c.u32(), c.u8(), c.u32()
	if k.Body > BodyNested {
		c.fail()
	}
}

// A Run is what the calls of one run took, in nanoseconds: plain u64, hooked
// u64, measured u64, timed u64.
type Run struct {
	Plain    uint64 // without hooks
	Hooked   uint64 // with them
	Measured uint64 // self time by the hooks' own account
	Timed    uint64 // calls that are in Measured
}

const runSize = 4 * 8

// runs: n u32 × run.
type runs []Run

func (r runs) append(dst []byte) []byte {
	return appendList(dst, r, func(dst []byte, one Run) []byte {
		return appendU64(appendU64(appendU64(appendU64(dst, one.Plain), one.Hooked), one.Measured), one.Timed)
	})
}

func (r *runs) read(c *cursor) {
	*r = readList(c, runSize, func(c *cursor) Run { return Run{c.u64(), c.u64(), c.u64(), c.u64()} })
}
