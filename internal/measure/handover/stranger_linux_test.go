package handover_test

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
)

// TestStrangers: even if the directory is open to others, another user gets no answer.
func TestStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this test must change its user: run it as root")
	}
	at := places(t)
	serve(t, at, newFake())
	socket := socketOf(at)
	for path, mode := range map[string]os.FileMode{at.Temp: 0o755, filepath.Dir(socket): 0o755, socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	var conn net.Conn
	err := asuser.As(nobody, nobody, func() (err error) {
		conn, err = net.Dial("unix", socket)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "of user 65534, which is neither this user nor root") {
		t.Errorf("have %q, %v", line, err)
	}
}
