package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestUnannouncedPackLive has the notice of a pack be removed, as programs do that keep
// /tmp clean: the commands know the pack by its arena, and observing is refused at once.
func TestUnannouncedPackLive(t *testing.T) {
	t.Parallel()
	s := newPackedShop(t, jvmtest.JDKs(t)[0])
	s.do("sell 2 gold")
	notice := filepath.Join("/tmp", process.PackNoticeName(s.PID))
	forget := func() {
		if err := os.Remove(notice); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	forget()
	for line := range strings.Lines(s.must("ps", "--json")) {
		if jvm := parse[jvmJSON](t, line); jvm.PID == s.PID && jvm.Inside != "pack" {
			t.Errorf("%+v", jvm)
		}
	}
	forget()
	if report, calls := s.reported(s.pid); calls["charges gold"] != 2 || report.Pack != s.pack || report.Arena != s.arena {
		t.Errorf("%v, %+v", calls, report)
	}
	forget()
	held := fmt.Sprintf("process %d was started with pack %s: sonde attach %d reads what it measures, sonde undo %d takes it out", s.PID, s.pack, s.PID, s.PID)
	if code, _, stderr := sonde(t, "observe", s.pid, "--for", "1h"); code != exitError || !strings.Contains(stderr, held) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	forget()
	if out := s.must("undo", s.pid); !strings.Contains(out, "what they have measured stays: sonde report "+s.arena) {
		t.Errorf("%s", out)
	}
	if jvm, err := process.Local.Inspect(s.PID); err != nil || jvm.Inside == process.Packed || len(jvm.Arenas) > 0 {
		t.Errorf("%+v, %v", jvm, err)
	}
}
