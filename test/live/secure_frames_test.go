package live_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// forgedForTheAgent are frames in Sonde's name that the agent must not take. Each
// readable frame stands for three: cut off, too long, and said to hold more.
func forgedForTheAgent() map[string][]byte {
	forged := map[string][]byte{
		"no length":         {0, 0, 0, 0, byte(control.KindPing), 0, 0, 0, 9},
		"a short length":    {0, 0, 0, 4, byte(control.KindPing), 0, 0, 9},
		"64 MiB and a byte": {4, 0, 0, 1, byte(control.KindWoven), 0, 0, 0, 2},
		"a negative length": {255, 255, 255, 255, byte(control.KindWoven), 0, 0, 0, 2},
		"WELCOME again":     frame(control.KindWelcome, 0, text("00112233445566778899aabbccddeeff"), u32(1)),
		"REFUSED":           frame(control.KindRefused, 0, text("someone else")),
		"counts more":       frame(control.KindInstall, 901, u32(1<<30), u32(1)),
		"counts below 0":    frame(control.KindFetch, 901, u32(1<<31), u32(1)),
		"a longer string":   frame(control.KindMap, 901, u32(1<<31-1), []byte("/tmp"), u64(8), u32(1)),
		"a negative string": frame(control.KindMap, 901, u32(1<<31), []byte("/tmp"), u64(8), u32(1)),
	}
	for _, unknown := range []control.Kind{0, 7, 29, 43, 128, 255} {
		forged[fmt.Sprintf("kind %d", unknown)] = frame(unknown, 901)
	}
	for _, own := range []control.Kind{
		control.KindHello, control.KindDone, control.KindClasses, control.KindOriginal, control.KindSeen, control.KindInstalled,
		control.KindRestored, control.KindNamed, control.KindCalibrated, control.KindTransform, control.KindNotice,
	} {
		forged["the agent's own "+own.String()] = frame(own, 901, text("x"))
	}
	for kind, body := range map[control.Kind][]byte{
		control.KindPing: nil, control.KindList: nil, control.KindRestore: nil, control.KindThreads: nil, control.KindBye: nil,
		control.KindMap:       append(append(text("/dev/shm/none"), u64(1<<20)...), u32(1)...),
		control.KindFetch:     append(u32(1), u32(1)...),
		control.KindSees:      append(u32(1), u32(1)...),
		control.KindInstall:   append(u32(1), u32(1)...),
		control.KindProbes:    append(u32(1), u64(1)...),
		control.KindWatch:     append(append(u32(1), append(text("a"), text("b")...)...), u32(0)...),
		control.KindCalibrate: append(append(append(u32(1), u32(1)...), 1), u32(1)...),
		control.KindFollow:    {1},
	} {
		if len(body) > 0 {
			forged[kind.String()+" cut off"] = frame(kind, 901, body[:len(body)-1])
			forged[kind.String()+" empty"] = frame(kind, 901)
		}
		forged[kind.String()+" with more"] = frame(kind, 901, body, []byte{0})
	}
	return forged
}

// TestAgentTakesNoForgedFrame holds that a frame which cannot be read ends the
// session: hooks are out, the arena is unmapped, the code is what it was.
func TestAgentTakesNoForgedFrame(t *testing.T) {
	forged := forgedForTheAgent()
	t.Logf("%d frames", len(forged))
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for name, words := range forged {
			b := come(s)
			if installed, err := b.install(); err != nil || installed.Err != "" {
				t.Fatalf("%s: %v %s", name, err, installed.Err)
			}
			write(b.agent, words)
			<-b.peer.Done()
			if err := b.peer.Err(); !errors.Is(err, control.ErrHungUp) {
				t.Errorf("%s: the agent went on: %v", name, err)
			}
			s.hangsUp(name, b, before)
		}
		b := come(s)
		if _, err := b.install(); err != nil {
			t.Fatal(err)
		}
		write(b.agent, frame(control.KindList, 901)[:6]) // and then nothing, for ever
		_ = b.agent.Close()
		s.hangsUp("dies in a frame", b, before)
		s.StopLoad()
		s.Check()
	})
}

// hangsUp waits for the agent's end, and demands that everything is back.
func (s *scene) hangsUp(name string, b *between, before state) {
	s.t.Helper()
	eventually(s.t, name+": the agent hangs up", func() bool { return b.peer.Err() != nil })
	if err := b.peer.Err(); !errors.Is(err, control.ErrLost) || strings.Contains(err.Error(), "\n") {
		s.t.Errorf("%s: %v", name, err)
	}
	b.strike()
	s.gone()
	for _, line := range before.code.DiffMeaning(before.oracle.Methods(s.prefixes()...)) {
		s.t.Errorf("%s: changed %s", name, line)
	}
	s.moves()
}

// TestSondeTakesNoForgedFrame holds that Sonde says in a line what it was sent,
// and that the agent, which did not send it, puts everything back.
func TestSondeTakesNoForgedFrame(t *testing.T) {
	forged := map[string]struct {
		words  []byte
		reason error
	}{
		"too long":           {[]byte{4, 0, 0, 1, byte(control.KindNotice), 0, 0, 0, 0}, control.ErrTooLong},
		"a negative length":  {[]byte{255, 255, 255, 255}, control.ErrTooLong},
		"no length":          {[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0}, control.ErrMalformed},
		"kind 0":             {frame(0, 0), control.ErrUnknownKind},
		"kind 99":            {frame(99, 0), control.ErrUnknownKind},
		"HELLO again":        {frame(control.KindHello, 0, []byte{0, 1}, text(""), text(""), text(""), text("")), control.ErrOutOfTurn},
		"REFUSED late":       {frame(control.KindRefused, 0, text("x")), control.ErrOutOfTurn},
		"Sonde's own":        {frame(control.KindBye, 1), control.ErrOutOfTurn},
		"DONE to nothing":    {frame(control.KindDone, 90001), control.ErrOutOfTurn},
		"CLASSES to nothing": {frame(control.KindClasses, 90001, []byte{1}, u32(0)), control.ErrOutOfTurn},
		"NOTICE cut off":     {frame(control.KindNotice, 0, u32(5), []byte("four")), control.ErrMalformed},
		"NOTICE with more":   {frame(control.KindNotice, 0, text("x"), []byte{0}), control.ErrMalformed},
		"TRANSFORM cut off":  {frame(control.KindTransform, 2, u32(1), u32(1), text("x")), control.ErrMalformed},
		"odd TRANSFORM":      {frame(control.KindTransform, 3, u32(1), u32(1), text("x"), text("")), control.ErrOutOfTurn},
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for name, tt := range forged {
			b := come(s)
			if installed, err := b.install(); err != nil || installed.Err != "" {
				t.Fatalf("%s: %v %s", name, err, installed.Err)
			}
			write(b.sonde, tt.words)
			<-b.peer.Done()
			if err := b.peer.Err(); !errors.Is(err, tt.reason) {
				t.Errorf("%s: %v, want %v", name, err, tt.reason)
			}
			s.hangsUp(name, b, before)
		}
		s.StopLoad()
		s.Check()
	})
}

// TestAgentIsAskedForTheImpossible holds that what can be read and not be done
// is answered, and does nothing.
func TestAgentIsAskedForTheImpossible(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		b := come(s)
		ctx := t.Context()
		precious := t.TempDir() + "/precious"
		if err := os.WriteFile(precious, make([]byte, 4096), 0o644); err != nil {
			t.Fatal(err)
		}
		var failed *control.FailedError
		for what, err := range map[string]error{
			"a second arena":     b.peer.Map(ctx, precious, 4096, 1),
			"no power of two":    b.peer.Probes(ctx, make([]uint64, 3)),
			"no such directory":  b.peer.Map(ctx, "/none/such", 4096, 1),
			"an impossible size": b.peer.Map(ctx, precious, 1<<62, 1),
		} {
			if err == nil || (what != "no power of two" && !errors.As(err, &failed)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		installed, err := b.peer.Install(ctx, []uint32{1 << 30})
		if err != nil || len(installed.Gone) != 1 {
			t.Errorf("a class that is not there: %+v, %v", installed, err)
		}
		b.lock.Lock()
		b.mangle[control.KindWoven] = func(whole []byte) []byte {
			request := uint32(whole[5])<<24 | uint32(whole[6])<<16 | uint32(whole[7])<<8 | uint32(whole[8])
			return frame(control.KindWoven, request, text("\xca\xfe\xba\xbe and no class"), text(""))
		}
		b.lock.Unlock()
		if installed, err = b.install(); err != nil || installed.Err == "" {
			t.Errorf("a class that is none went in: %+v, %v", installed, err)
		}
		b.lock.Lock()
		b.mangle[control.KindWoven] = func(whole []byte) []byte {
			request := uint32(whole[5])<<24 | uint32(whole[6])<<16 | uint32(whole[7])<<8 | uint32(whole[8])
			return frame(control.KindWoven, request, u32(1<<20), []byte("short"))
		}
		b.lock.Unlock()
		_, _ = b.install() // ends with the session, before or after its answer
		s.hangsUp("WOVEN cut off", b, before)
		if content, err := os.ReadFile(precious); err != nil || strings.Trim(string(content), "\x00") != "" {
			t.Errorf("a file was written to: %v", err)
		}
		s.StopLoad()
		s.Check()
	})
}
