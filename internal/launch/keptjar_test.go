package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheJarIsKeptWhereNobodyElseWrites(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	jar, err := KeepJar("")
	if err != nil || !strings.HasPrefix(jar, filepath.Join(data, "sonde", "agent")+"/") {
		t.Fatalf("%s, %v", jar, err)
	}
	if again, err := KeepJar(""); err != nil || again != jar {
		t.Errorf("the second time: %s, %v", again, err)
	}
	open := filepath.Join(data, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepJar(open); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a directory that all may write to: %v", err)
	}
}
