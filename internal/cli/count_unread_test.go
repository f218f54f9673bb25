package cli

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestCountUnread shows that a reader that goes away, as head does, ends a count
// in order.
func TestCountUnread(t *testing.T) {
	p := live.Start(t, jvmtest.JDKs(t)[0], live.Attach, live.Everyday...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sonde", append(countArgs(p.PID, everything...), "--json", "--interval", "50ms")...)
	var stderr strings.Builder
	command.Stdout, command.Stderr = writer, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	_ = writer.Close()
	if _, err := bufio.NewReader(reader).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	if code := exitCode(t, command.Wait()); code != exitUnread {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if strings.Contains(stderr.String(), "sonde:") {
		t.Errorf("%s", stderr.String())
	}
	if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "nothing of Sonde's") {
		t.Errorf("%s", out)
	}
}
