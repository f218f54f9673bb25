package agent_test

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A folder folds texts as hooks do, in a JVM.
type folder struct{ *jvmtest.Running }

// startFolder compiles the classes of the hooks in another package, which needs no agent.
func startFolder(t testing.TB) *folder {
	t.Helper()
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		t.Skip("NOT TESTED: there is no JDK")
	}
	jdk := jdks[len(jdks)-1]
	sources := []string{"testdata/Fold.java"}
	for _, name := range []string{"SondeHooksTexts.java", "SondeHooksKept.java"} {
		text, err := os.ReadFile(filepath.Join("hooks/src/java/lang", name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), "package java.lang;", "package texts;", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, file)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources})
	return &folder{jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "texts.Fold"}})}
}

func (f *folder) fold(t testing.TB, kind, text string) string {
	t.Helper()
	if _, err := fmt.Fprintln(f.Stdin, kind, base64.StdEncoding.EncodeToString([]byte(text))); err != nil {
		t.Fatal(err)
	}
	answer := strings.TrimPrefix(f.Await(t, "folded "), "folded ")
	folded, err := base64.StdEncoding.DecodeString(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(folded)
}

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestFoldedTexts(t *testing.T) {
	f := startFolder(t)
	many := strings.TrimSuffix(strings.Repeat("1, ", 3000), ", ")
	long := "select " + strings.Repeat("t.a_rather_long_name, ", 100) + "t.b from t where t.id = ?"
	for _, test := range []struct{ kind, text, want string }{
		{"sql", "select * from t where a = 'x' and b=12", "select * from t where a = ? and b=?"},
		{"sql", "  select  *\n\tfrom t ", "select * from t"},
		{"sql", "select * from t where id in (1, 2,3)", "select * from t where id in (?)"},
		{"sql", "select * from t where id in (?,?, ?)", "select * from t where id in (?)"},
		{"sql", "select * from t where id in ( ?1, ?2 )", "select * from t where id in (?)"},
		{"sql", "select * from t where id in (" + many + ")", "select * from t where id in (?)"},
		{"sql", "insert into t (a, b) values (1, 'x'), (2,'y') , (3, 'z')", "insert into t (a, b) values (?)"},
		{"sql", "select 'it''s', 'b' from t", "select ? from t"},
		{"sql", `select a from t where b = 'it\'s SECRET' and c = 'd'`, "select a from t where b = ? …"},
		{"sql", `select a from t where b = 'C:\' and c = 'SECRET'`, "select a from t where b = ? …"},
		{"sql", "select 'SECRET", "select ? …"},
		{"sql", `select "SECRET" from "T" where u."id" = "SECRET" and "U".x = 1`, `select ? from "T" where u."id" = ? and "U".x = ?`},
		{"sql", `select a from t where b = "SECRET`, "select a from t where b = ? …"},
		{"sql", "select a -- SECRET\nfrom t", "select a from t"},
		{"sql", "select a # SECRET\nfrom t", "select a from t"},
		{"sql", "select /* SECRET */ a from t", "select a from t"},
		{"sql", "select a /* b /* c */ SECRET */ from t", "select a …"},
		{"sql", "select a /* SECRET", "select a"},
		{"sql", "select 1e-3, 0x1F, 1.5, .5, 1.e5 from t1 where c2 = 3.", "select ? from t1 where c2 = ?"},
		{"sql", "select a from t where b = $1 and c = $2", "select a from t where b = ? and c = ?"},
		{"sql", "select $$SECRET$$, $x$SECRET $$ SECRET$x$ from t", "select ? from t"},
		{"sql", "select $x$SECRET", "select ? …"},
		{"sql", "select a[1], :name, @v1 from t", "select a[?], :name, @v1 from t"},
		{"sql", "{call p(?, 'x')}", "{call p(?)}"},
		{"sql", "update t set a = N'x', b = {ts '2026-01-01 00:00:00'}", "update t set a = N?, b = {ts ?}"},
		{"sql", "select `a1` from t where b=-5", "select `a1` from t where b=-?"},
		{"sql", "", ""},
		{"sql", strings.Replace(long, "?", "7", 1), long[:200] + " … " + long[len(long)-216:]},
		{"path", "/", "/"},
		{"path", "/users/123/orders/77-1", "/users/{}/orders/{}"},
		{"path", "/a/3f2504e0-4f89-11d3-9a0c-0305e82c3301/b", "/a/{}/b"},
		{"path", "/a;jsessionid=SECRET/b;v=1?token=SECRET#SECRET", "/a/b"},
		{"path", "/reset/aVeryLongTokenWith1Digit", "/reset/{}"},
		{"path", "/mail/someone@example.com", "/mail/{}"},
		{"path", "/mail/someone%40example.com", "/mail/{}"},
		{"path", "/v2/order-items/list", "/v2/order-items/list"},
		{"path", "/" + strings.Repeat("abc/", 100), "/" + strings.Repeat("abc/", 40) + "…"},
		{"trace", "00-" + traceID + "-" + spanID + "-01", traceID + "-" + spanID},
		{"trace", "00-" + traceID + "-" + spanID + "-ff", traceID + "-" + spanID},
		{"trace", "cc-" + traceID + "-" + spanID + "-01-SECRET", traceID + "-" + spanID},
		{"trace", traceID, traceID},
		{"trace", "00-" + traceID + "-" + spanID + "-01-SECRET", "null"},
		{"trace", "cc-" + traceID + "-" + spanID + "-01SECRET", "null"},
		{"trace", "ff-" + traceID + "-" + spanID + "-01", "null"},
		{"trace", "0-" + traceID + "-" + spanID + "-001", "null"},
		{"trace", "00-" + strings.ToUpper(traceID) + "-" + spanID + "-01", "null"},
		{"trace", "00-" + strings.Repeat("0", 32) + "-" + spanID + "-01", "null"},
		{"trace", "00-" + traceID + "-" + strings.Repeat("0", 16) + "-01", "null"},
		{"trace", "00-" + traceID + "-" + spanID + "-0", "null"},
		{"trace", "00-" + traceID + "-" + spanID + "-0g", "null"},
		{"trace", "00_" + traceID + "-" + spanID + "-01", "null"},
		{"trace", strings.Repeat("0", 32), "null"},
		{"trace", traceID[1:] + "g", "null"},
		{"trace", traceID + "0", "null"},
		{"trace", "cc-" + traceID + "-" + spanID + "-01-" + strings.Repeat("SECRET", 100), "null"},
		{"trace", "", "null"},
	} {
		got := f.fold(t, test.kind, test.text)
		if got != test.want {
			t.Errorf("%s of %.200q:\n got %q\nwant %q", test.kind, test.text, got, test.want)
		}
		if strings.Contains(got, "SECRET") {
			t.Errorf("%s of %q has the secret: %q", test.kind, test.text, got)
		}
	}
}

// TestKeysOfObjects: objects that are used once do not take the places of those that are used again.
func TestKeysOfObjects(t *testing.T) {
	f := startFolder(t)
	if _, err := fmt.Fprintln(f.Stdin, "keep"); err != nil {
		t.Fatal(err)
	}
	if got, want := f.Await(t, "kept "), "kept 1000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFoldedStatementsHaveNoLiterals folds statements made of random pieces, in which every literal and comment has a secret.
func TestFoldedStatementsHaveNoLiterals(t *testing.T) {
	f := startFolder(t)
	pieces := []string{"select", "a.b", "t1", ",", "(", ")", "=", "-", "+", "in", "values", "\n", " ", "  ", "?", "12", "1.5e3", ":p", "x'", "[", "]", "\"n\".m",
		"'SECRET'", "'a''SECRET'", "'SECRET\\'", "'\\' SECRET'", "/* SECRET */", "-- SECRET\n", "$$SECRET$$", "$q$SECRET$q$", "\"SECRET\"", "N'SECRET'", "'", "\\", "#"}
	random := rand.New(rand.NewSource(26))
	for range 3000 {
		var text strings.Builder
		isOpen := false
		for range 1 + random.Intn(30) {
			piece := pieces[random.Intn(len(pieces))]
			if piece == "'" || piece == "x'" { // makes literals of names, and the other way round
				isOpen = true
			}
			if piece[0] == '$' { // otherwise it may belong to a name
				text.WriteByte(' ')
			}
			text.WriteString(piece + strings.Repeat(" ", random.Intn(2)))
		}
		got := f.fold(t, "sql", text.String())
		checkFolded(t, text.String(), got)
		if !isOpen && strings.Contains(got, "SECRET") && !strings.Contains(text.String(), "\"SECRET\"") {
			t.Errorf("%q became %q", text.String(), got)
		}
	}
}

// checkFolded checks what holds for every statement.
func checkFolded(t testing.TB, text, folded string) {
	t.Helper()
	if n := utf8.RuneCountInString(folded); n > 425 {
		t.Errorf("%.100q became a text of %d characters", text, n)
	}
	if strings.Contains(folded, "  ") && !strings.ContainsAny(text, "\"`…") {
		t.Errorf("%q became %q, with two blanks", text, folded)
	}
}

func FuzzFoldStatement(f *testing.F) {
	folder := startFolder(f)
	for _, seed := range []string{"select 'a' from t", "insert into t values (1, 2), (3, 4)", "/* a */ -- b\n\"c\".d $$e$$ $1 0x1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 60_000 { // the harness reads lines
			t.Skip()
		}
		checkFolded(t, text, folder.fold(t, "sql", text))
	})
}
