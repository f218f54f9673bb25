package unwind

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func openFile(t testing.TB, path string) *Library {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(f, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return l
}

// TestRowsAreReadelfs compares the rules at every address where they change with what readelf of
// binutils prints: for libc, libjvm, and the files that SONDE_ELF_FILES lists.
func TestRowsAreReadelfs(t *testing.T) {
	files := append(filepath.SplitList(os.Getenv("SONDE_ELF_FILES")), findLibc(t))
	for _, jdk := range jvmtest.OneJDK(t) {
		files = append(files, libjvm(jdk))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { compareWithReadelf(t, file) })
	}
}

// findLibc returns the libc.so.6 that programs of this machine use.
func findLibc(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ldd", "/bin/sh").Output()
	for line := range strings.Lines(string(out)) {
		if _, path, ok := strings.Cut(line, "libc.so.6 => "); ok {
			path, _, _ = strings.Cut(path, " ")
			return path
		}
	}
	t.Skipf("NOT TESTED: ldd finds no libc.so.6: %v", err)
	return ""
}

func compareWithReadelf(t *testing.T, path string) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("NOT TESTED: there is no readelf to compare with: install binutils")
	}
	l := openFile(t, path)
	command := exec.Command(readelf, "--debug-dump=frames-interp", path)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Wait() }() // warnings are no concern here
	defer func() { _, _ = io.Copy(io.Discard, out) }()

	var functions, rows int
	var columns, previous []string // previous is the row before, nil at the begin of a function
	var start, end uint64
	scanner := bufio.NewScanner(out)
	for scanner.Scan() && !t.Failed() && !strings.HasPrefix(scanner.Text(), "Contents of the .debug_frame") {
		// A register as in "r2 (rcx)" is one field.
		fields := strings.Fields(strings.ReplaceAll(scanner.Text(), " (", "("))
		switch {
		case len(fields) > 3 && (fields[3] == "FDE" || fields[3] == "CIE"):
			columns, previous, start, end = nil, nil, 0, 0
			if fields[3] == "FDE" {
				functions++
				if _, err := fmt.Sscanf(fields[5], "pc=%x..%x", &start, &end); err != nil {
					t.Fatalf("%q: %v", scanner.Text(), err)
				}
			}
		case len(fields) > 1 && fields[0] == "LOC":
			columns = fields
		case len(fields) > 1 && len(fields) == len(columns) && start > 0:
			address, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				t.Fatalf("%q: %v", scanner.Text(), err)
			}
			if address < end {
				compareRow(t, l, address, columns, fields)
			}
			if previous != nil && previous[0] != fields[0] { // rules hold up to the next row
				compareRow(t, l, address-1, columns, previous)
			}
			previous = fields
			rows++
		case len(fields) == 0:
			columns = nil
		}
	}
	t.Logf("%d functions, %d rows", functions, rows)
	if functions != len(l.functions) || rows == 0 {
		t.Errorf("%d functions and %d rows in readelf's output, %d functions found", functions, rows, len(l.functions))
	}
}

var namesAMD64 = strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra")

// compareRow compares the rules at an address with a row of readelf, column by column.
func compareRow(t *testing.T, l *Library, address uint64, columns, want []string) {
	t.Helper()
	names := namesAMD64
	if l.Machine == ARM64 {
		names = nil
		for i := range 30 {
			names = append(names, fmt.Sprintf("x%d", i))
		}
		names = append(names, "ra", "sp")
	}
	row := l.row(address)
	outermost := errors.Is(row.err, ErrOutermost)
	if row.err != nil && !outermost {
		t.Errorf("at %#x: %v", address, row.err)
		return
	}
	for i, column := range columns[1:] {
		got := "u"
		register := slices.Index(names, column)
		switch {
		case outermost && column != "ra", register < 0 && column != "CFA":
			continue
		case column == "CFA" && row.cfa.kind == byExpression:
			got = "exp"
		case column == "CFA":
			got = fmt.Sprintf("%s%+d", names[row.cfa.register], row.cfa.offset)
		}
		for _, saved := range row.saved {
			switch {
			case saved.register != register:
			case saved.rule.kind == savedAtOffset:
				got = fmt.Sprintf("c%+d", saved.rule.offset)
			case saved.rule.kind == savedAtExpression:
				got = "exp"
			case saved.rule.kind == offsetFromRegister:
				got = fmt.Sprintf("r%d(%s)", saved.rule.register, names[saved.rule.register])
			case saved.rule.kind != undefined:
				got = fmt.Sprintf("%+v", saved.rule)
			}
		}
		if got != want[i+1] && (got != "u" || want[i+1] != "s") { // s: a rule says that the register is unchanged
			t.Errorf("%s at %#x: want %s, got %s\nrow of readelf: %v", column, address, want[i+1], got, want)
		}
	}
}
