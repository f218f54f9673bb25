package agent_test

import (
	"encoding/binary"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// calibration is the body of CALIBRATE.
func calibration(rounds uint32, flags arena.Flags, body byte, steps uint32) []byte {
	asked := binary.BigEndian.AppendUint32(nil, rounds)
	asked = binary.BigEndian.AppendUint32(asked, arena.Probe{Flags: flags, Period: 1}.Setting())
	return binary.BigEndian.AppendUint32(append(asked, body), steps)
}

// Calls are made through the switch table that is there, whatever it is, and
// leave no trace in what the program's methods did.
func TestHooksAreCalibrated(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		const (
			rounds = 500
			nested = 3
		)
		g.tell("work", 1)
		a, _ := g.mapArena()
		var made uint64
		ask := func(flags arena.Flags, body byte, steps uint32) {
			t.Helper()
			g.ask(calibrate, calibration(rounds, flags, body, steps))
			answer := g.reply(calibrated)
			count := answer.u32()
			if count == 0 || count > 9 {
				t.Fatalf("%d runs", count)
			}
			made += uint64(count) * (rounds + 1)
			for range count {
				plain, hooked, measured, timed := answer.u64(), answer.u64(), answer.u64(), answer.u64()
				var want uint64
				if flags&(arena.Timed|arena.Sampled) != 0 {
					want = rounds
				}
				if flags&arena.Flat != 0 && body == nested {
					want *= 2 // the inner calls are of the same node
				}
				if plain == 0 || hooked == 0 || (measured != 0) != (want != 0) || measured >= hooked || timed != want {
					t.Errorf("flags %#x, body %d, %d steps: %d ns plain, %d hooked, %d measured of %d calls", flags, body, steps, plain, hooked, measured, timed)
				}
			}
		}
		ask(arena.On|arena.Timed, 1, 100) // all is off
		g.hook()
		for _, flags := range []arena.Flags{
			arena.Timed, arena.Timed | arena.Flat, arena.Timed | arena.Inside | arena.Discover, arena.Root, 0,
		} {
			ask(flags, 1, 100)
		}
		if got := nodeOf(t, a, arena.CalibrationID); got.Squares != 0 || got.Max == 0 || got.Born == 0 {
			t.Errorf("%+v", got)
		}
		ask(arena.Sampled, 1, 100)
		if got := nodeOf(t, a, arena.CalibrationID); got.Squares <= float64(got.Timed) {
			t.Errorf("%+v", got)
		}
		ask(arena.Timed, 0, 0)
		ask(arena.Timed, 2, 100)
		g.tell("work", 10)
		if got := calls(t, a, "Guest$Work"); got != 10 {
			t.Errorf("%d calls of the program, want 10", got)
		}
		if got := nodeOf(t, a, arena.CalibrationID).Calls; got < made {
			t.Errorf("%d calls made to calibrate, of %d that were told", got, made)
		}
		ask(arena.Timed|arena.Flat, nested, 100)
		outer := nodeOf(t, a, arena.CalibrationID)
		ask(arena.Timed, nested, 100)
		inner := nodeOf(t, a, arena.CalibrationID)
		if inner.Parent != outer.Ref || inner.Calls == 0 || inner.Calls%rounds != 0 || inner.Timed != inner.Calls {
			t.Errorf("calls inside others are %+v, below %+v", inner, outer)
		}
		g.leave()
	})
}
