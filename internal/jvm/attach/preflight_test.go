package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// fakeHost is a /proc with one process.
func fakeHost(t *testing.T, uid int, maps string) process.Host {
	t.Helper()
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"7/status":  fmt.Sprintf("State:\tS (sleeping)\nUid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\n", uid, uid, uid, uid, uid, uid, uid, uid),
		"7/stat":    "7 (java) S" + strings.Repeat(" 1", 30),
		"7/cmdline": "java\x00Main\x00", "7/environ": "", "7/maps": maps, "uptime": "10.0 10.0\n",
	} {
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/opt/jdk/bin/java", filepath.Join(proc, "7", "exe")); err != nil {
		t.Fatal(err)
	}
	return process.Host{Proc: proc}
}

func TestPreflightRefuses(t *testing.T) {
	const hotSpot = "7f0-7f1 r-xp 0 fe:00 1  /opt/jdk/lib/server/libjvm.so\n"
	for _, tt := range []struct {
		name, maps, detail string
		kind               error
	}{
		{"not a JVM", "7f0-7f1 r-xp 0 fe:00 1  /usr/bin/cat\n", "sonde ps", ErrNotJVM},
		{"one that reads libjvm.so", strings.ReplaceAll(hotSpot, "r-xp", "r--p"), "sonde ps", ErrNotJVM},
		{"OpenJ9", hotSpot + "7f0-7f1 r-xp 0 fe:00 1  /opt/jdk/lib/default/libj9vm29.so\n", "HotSpot", ErrOpenJ9},
		{"no handler of SIGQUIT", hotSpot, "SIGQUIT", ErrDisabled},
	} {
		_, err := preflight(fakeHost(t, os.Geteuid(), tt.maps), 7)
		var typed *Error
		if !errors.Is(err, tt.kind) || !errors.As(err, &typed) || typed.PID != 7 || !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
