package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func TestNamed(t *testing.T) {
	jvms := []*process.JVM{
		{PID: 1, Main: "com.acme.Shop"}, {PID: 2, Main: "com.acme.Shopping"}, {PID: 3, Main: "/opt/app/orders.jar"},
		{PID: 4, Main: "acme/com.acme.Stock"}, {PID: 5, Main: "old.Worker"}, {PID: 6, Main: "new.Worker"},
	}
	tests := []struct {
		name string
		pid  int
		err  string
	}{
		{"com.acme.Shop", 1, ""},
		{"Shop", 1, ""},
		{"shopping", 2, ""},
		{"orders.jar", 3, ""},
		{"orders", 3, ""},
		{"/opt/app/orders.jar", 3, ""},
		{"Stock", 4, ""},
		{"old.W", 5, ""},
		{"Worker", 0, `"Worker" matches 2 JVMs (5 old.Worker, 6 new.Worker): give one process number`},
		{".", 0, `"." matches 6 JVMs (1 com.acme.Shop, 2 com.acme.Shopping, 3 /opt/app/orders.jar, 4 acme/com.acme.Stock, 5 old.Worker, and 1 more): give one process number`},
		{"Bank", 0, ""},
	}
	for _, test := range tests {
		found, err := named(jvms, test.name)
		switch {
		case test.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%s: got %v, want %s", test.name, err, test.err)
			}
		case err != nil || (found == nil) != (test.pid == 0) || found != nil && found.PID != test.pid:
			t.Errorf("%s: got %v, %v, want process %d", test.name, found, err, test.pid)
		}
	}
	if found, err := named(jvms[:1], onlyJVM); err != nil || found.PID != 1 {
		t.Errorf("the only JVM: got %v, %v, want process 1", found, err)
	}
}

func TestCommandsThatTakeJVMs(t *testing.T) {
	var with, without []string
	for _, g := range groups(streams{}) {
		for _, command := range g.commands {
			if takesJVM(command) {
				with = append(with, command.Name())
			} else {
				without = append(without, command.Name())
			}
		}
	}
	if got, want := strings.Join(with, " "), "calls hot walk drill profile trace count monitor find callees observe apply save doctor status attach undo report"; got != want {
		t.Errorf("commands that take a JVM: got %s, want %s; the others are %s", got, want, without)
	}
}

// TestNamesStayFiles checks that the arguments of commands that take files as well are not looked for among the JVMs.
func TestNamesStayFiles(t *testing.T) {
	for _, argument := range []string{"recording.jfr", "lib/app.jar", strconv.Itoa(4711)} {
		args := []string{argument}
		command := &cobra.Command{Use: "observe PID|FILE..."}
		command.SetContext(t.Context())
		if err := resolveName(command, args); err != nil || args[0] != argument {
			t.Errorf("%s became %s, %v", argument, args[0], err)
		}
	}
}

func TestNextName(t *testing.T) {
	for _, test := range []struct{ class, part, want string }{
		{"com.acme.Order", "", "com."},
		{"com.acme.Order", "com.a", "com.acme."},
		{"com.acme.Order", "com.acme.", "com.acme.Order."},
		{"com.acme.Order", "com.acme.Or", "com.acme.Order."},
		{"com.acme.Order", "com.acme.Order.", ""},
		{"Main", "M", "Main."},
	} {
		if got, is := nextName(test.class, test.part); got != test.want || is != (test.want != "") {
			t.Errorf("%s after %q: got %q, %t, want %q", test.class, test.part, got, is, test.want)
		}
	}
}

// TestFlagValuesAreCompleted asks as a shell does.
func TestFlagValuesAreCompleted(t *testing.T) {
	code, out, stderr := runHere(t.Context(), "__complete", "count", "1", "a.B.c", "--timing", "")
	if want := "exact\nsampled\nnone\n:4\n"; code != exitOK || out != want {
		t.Errorf("exit code %d, got %q, want %q: %s", code, out, want, stderr)
	}
}

func TestManual(t *testing.T) {
	var page strings.Builder
	started := false
	root := newRoot(streams{}, &started)
	hot, _, err := root.Find([]string{"hot"})
	if err != nil {
		t.Fatal(err)
	}
	manual(&page, hot)
	for _, want := range []string{`.TH "SONDE-HOT" 1`, `sonde\-hot \- Show where`, ".B sonde hot PID|FILE [flags]", ".B \\-d, \\-\\-duration duration\n", ".BR sonde (1)"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got, want := roff("a\\b\n.c\n'd"), "a\\eb\n\\&.c\n\\&'d"; got != want {
		t.Errorf("roff: got %q, want %q", got, want)
	}
}
