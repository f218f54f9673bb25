package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// shells are programs that load the script $1, and print what they would make of the command line $2, in which the cursor
// is at the end.
var shells = []struct {
	name    string
	command []string
}{
	{"bash", []string{"bash", "--noprofile", "--norc", "-c", `
		source "$1" || exit
		complete -p sonde | grep -q __start_sonde || exit
		compopt() { :; } # it works only while bash completes
		COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COLUMNS=200
		__start_sonde sonde
		printf '%s\n' "${COMPREPLY[@]}"`, "bash"}},
	{"zsh", []string{"zsh", "-f", "-c", `
		compdef() { : }
		source "$1" || exit
		_describe() { print -rl -- ${completions%%:*} }
		words=(${(z)2}) CURRENT=${#words}
		[[ $2 == *' ' ]] && words+=("") CURRENT=${#words}
		_sonde`, "zsh"}},
	{"fish", []string{"fish", "--no-config", "-c", `
		source $argv[1]; or exit
		complete -C $argv[2] | string replace -r '\t.*' ''; or true # nothing had a description`}},
}

// TestShellsComplete lets shells complete a command, flags and their values, a JVM and a method of it, by the script that
// Sonde writes for them. Packages that help shells with that are not loaded.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/applied/Shop.java"}})
	pid := strconv.Itoa(jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "applied.Shop"}}).PID)
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Skipf("NOT TESTED: there is no %s", shell.name)
			}
			code, text, stderr := sonde(t, "completion", shell.name)
			if code != exitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct{ line, want string }{
				{"sonde prof", "profile"},
				{"sonde trace --slow", "--slower-than"},
				{"sonde count 1 a.B.c --timing sam", "sampled"},
				{"sonde count 1 a.B.c --timing ", "exact"},
				{"sonde count 1 a.B.c --timing=sam", "sampled"},
				{"sonde count " + pid, pid},
				{"sonde count " + pid + " applied.S", "applied.Shop."},
				{"sonde count " + pid + " applied.Shop.ma", "applied.Shop.main"},
			} {
				command := exec.Command(shell.command[0], append(shell.command[1:len(shell.command):len(shell.command)], script, tt.line)...)
				var problems strings.Builder
				command.Stderr = &problems
				out, err := command.Output()
				isThere := false
				for line := range strings.Lines(string(out)) {
					words := strings.Fields(line) // without descriptions
					isThere = isThere || len(words) > 0 && strings.TrimPrefix(words[0], "--timing=") == tt.want
				}
				if err != nil || !isThere || problems.Len() > 0 {
					t.Errorf("%q: got %q, want %s among them: %v %s", tt.line, out, tt.want, err, problems.String())
				}
			}
		})
	}
}

// TestBashKnowsItsWords: words end at blanks only, also without the package bash-completion.
func TestBashKnowsItsWords(t *testing.T) {
	code, script, stderr := runHere(t.Context(), "completion", "bash")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("NOT TESTED: there is no bash")
	}
	script += `
		COMP_LINE=$1 COMP_POINT=${#1}
		__sonde_init_completion -n =:
		IFS='|'
		echo "${words[*]} $prev|$cur"`
	for line, want := range map[string]string{
		"sonde ":                    "sonde| sonde|",
		"sonde count 1 a::b":        "sonde|count|1|a::b 1|a::b",
		"sonde profile --timing=ex": "sonde|profile|--timing=ex profile|--timing=ex",
		"sonde  hot \t":             "sonde|hot| hot|",
	} {
		out, err := exec.Command("bash", "--noprofile", "--norc", "-c", script, "bash", line).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q: got %q, want %q: %v", line, got, want, err)
		}
	}
}
