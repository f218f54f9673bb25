package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

func TestEnv(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JAVA_TOOL_OPTIONS", `-Xmx1g -javaagent:/old/sonde-agent-0.jar=pack=/x "-Dname=it's me"`)
	packed := madePack(t, nil)
	jar := filepath.Join(dir, "sonde-agent-"+agent.AgentBuild()+".jar")
	option := "-javaagent:" + jar + "=pack=" + packed + ",arena=" + dir + ",only=com.acme.*,only=*.jar,not=*Tool"
	args := []string{"env", "--agent-dir", dir, "--pack", packed, "--arena", dir, "--only", "com.acme.*", "--only", "*.jar", "--not", "*Tool"}
	code, out, stderr := runHere(context.Background(), args...)
	if want := `export JAVA_TOOL_OPTIONS='-Xmx1g "-Dname=it'\''s me" ` + option + "'\n"; code != exitOK || out != want || stderr != "" {
		t.Errorf("exit code %d, %s%swant %s", code, out, stderr, want)
	}
	// A shell reads it as it is meant.
	read, err := exec.Command("sh", "-c", `eval "$1" && printenv JAVA_TOOL_OPTIONS`, "sh", out).Output()
	value := `-Xmx1g "-Dname=it's me" ` + option
	if err != nil || string(read) != value+"\n" {
		t.Errorf("%s, %v", read, err)
	}
	if content, err := os.ReadFile(jar); err != nil || string(content) != string(agent.AgentJar()) {
		t.Errorf("the jar: %v", err)
	}
	if _, out, _ := runHere(context.Background(), append(args, "--shell", "json")...); parse[map[string]string](t, out)["JAVA_TOOL_OPTIONS"] != value {
		t.Errorf("%s", out)
	}
	if _, out, _ := runHere(context.Background(), append(args, "--shell", "fish")...); out != `set -gx JAVA_TOOL_OPTIONS '-Xmx1g "-Dname=it\'s me" `+option+"'\n" {
		t.Errorf("%s", out)
	}
	if _, out, _ := runHere(context.Background(), append(args, "--shell", "dotenv")...); out != `JAVA_TOOL_OPTIONS="-Xmx1g \"-Dname=it's me\" `+option+"\"\n" {
		t.Errorf("%s", out)
	}
}

// TestEnvKeepsTheJar that JVMs have open; one that is not what it should be is replaced
// by its name.
func TestEnvKeepsTheJar(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JAVA_TOOL_OPTIONS", "")
	args := []string{"env", "--agent-dir", dir}
	if code, out, stderr := runHere(context.Background(), args...); code != exitOK || !strings.HasPrefix(out, "export JAVA_TOOL_OPTIONS=-javaagent:"+dir+"/sonde-agent-") {
		t.Fatalf("exit code %d, %s%s", code, out, stderr)
	}
	jar := filepath.Join(dir, "sonde-agent-"+agent.AgentBuild()+".jar")
	first, err := os.Stat(jar)
	if err != nil {
		t.Fatal(err)
	}
	runHere(context.Background(), args...)
	if second, err := os.Stat(jar); err != nil || !os.SameFile(first, second) || !second.ModTime().Equal(first.ModTime()) {
		t.Errorf("it was written again: %v", err)
	}
	if err := os.WriteFile(jar, []byte("PK"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(jar)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	runHere(context.Background(), args...)
	third, err := os.Stat(jar)
	if err != nil || os.SameFile(first, third) || third.Size() != int64(len(agent.AgentJar())) {
		t.Errorf("%v, %v", third, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestEnvRefusals(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JAVA_TOOL_OPTIONS", "")
	packed := madePack(t, nil)
	old := madePack(t, func(c *pack.Content) { c.Build = "another" })
	open := madePack(t, nil)
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x"}, exitUsage, "unexpected argument"},
		{[]string{"--shell", "csh"}, exitUsage, "sh, fish, dotenv or json"},
		{[]string{"--arena", dir}, exitUsage, "--arena needs --pack"},
		{[]string{"--only", ""}, exitUsage, "must not be empty"},
		{[]string{"--only", "a,b"}, exitError, "separated by commas"},
		{[]string{"--not", `a"b'c`}, exitError, "both kinds of quotes"},
		{[]string{"--not", "a\nb"}, exitError, "control character"},
		{[]string{"--pack", dir + "/none"}, exitError, "no such file"},
		{[]string{"--pack", old}, exitError, "make it again with this one"},
		{[]string{"--pack", open}, exitError, open + " can be written by others (chmod go-w prevents this)"},
		{[]string{"--pack", packed, "--arena", dir + "/none/x-%p.arena"}, exitError, "create it first"},
	} {
		code, out, stderr := runHere(context.Background(), append([]string{"env", "--agent-dir", dir}, tt.args...)...)
		if code != tt.code || out != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("sonde env %q: exit code %d, %s%s", tt.args, code, out, stderr)
		}
	}
	code, _, stderr := runHere(context.Background(), "env", "--agent-dir", dir, "--pack", packed, "--arena", dir+"/one.arena")
	if code != exitOK || !strings.Contains(stderr, "%p in the name, or a directory") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, out, _ := runHere(context.Background(), "env", "--agent-dir", dir+"/a b"); code != exitOK || !strings.Contains(out, `'"-javaagent:`+dir+`/a b/`) {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, _, stderr := runHere(context.Background(), "env", "--agent-dir", dir+"/a=b"); code != exitError || !strings.Contains(stderr, "equals sign") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
