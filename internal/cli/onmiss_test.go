package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

func TestCommandsOfGoals(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string // in the error; "" for none
	}{
		{[]string{"grep", "-q", `^{"a":1}$`}, ""},
		{[]string{"grep", "-q", "other"}, "grep: exit status 1"},
		{[]string{"sonde-has-no-such-program"}, "executable file not found"},
		{[]string{"sh", "-c", "cat > /dev/null; echo no host >&2; echo more >&2; exit 3"}, "sh: exit status 3: no host"},
	} {
		err := perform(t.Context(), probeset.OnMiss{Run: test.words}, []byte(`{"a":1}`))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: got %v, want %q", test.words, err, test.want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := perform(ended, probeset.OnMiss{Run: []string{"sleep", "1000"}}, nil); err == nil {
		t.Error("a command goes on after the end of sonde apply")
	}
}

func TestPostsOfGoals(t *testing.T) {
	got := ""
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("findings went to another host") }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/missed", func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.Header.Get("Content-Type") + " " + string(text)
	})
	mux.Handle("/here", http.RedirectHandler("/missed", http.StatusTemporaryRedirect))
	mux.Handle("/get", http.RedirectHandler("/missed", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusPermanentRedirect))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	mux.HandleFunc("/no", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{
		"/missed": "", "/here": "", "/get": "it redirects to /missed: post to that one", "/loop": "it redirects to /loop", "/away": "it redirects to another address",
		"/no": "the answer is 403 Forbidden",
	} {
		got = ""
		err := perform(t.Context(), probeset.OnMiss{Post: server.URL + path}, []byte(`{"a":1}`))
		if want == "" && (err != nil || got != `POST application/json {"a":1}`) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || got != "") {
			t.Errorf("%s: got %v, %q, want %q", path, err, got, want)
		}
	}
	server.Close()
	if err := perform(t.Context(), probeset.OnMiss{Post: server.URL}, nil); err == nil {
		t.Error("nobody listens, and there is no error")
	}
}

func TestNamesOfCommands(t *testing.T) {
	set := &probeset.Set{}
	for _, word := range []string{"./notify", "notify", "/bin/notify", "../notify"} {
		set.Goals = append(set.Goals, probeset.Goal{OnMiss: probeset.OnMiss{Run: []string{word, "./a"}}})
	}
	if err := resolveCommands(set, "conf"); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{filepath.Join(here, "conf", "notify"), "notify", "/bin/notify", filepath.Join(here, "notify")} {
		if got := set.Goals[i].OnMiss.Run; got[0] != want || got[1] != "./a" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := (streams{look: &hostedLook{host: &host{listens: true}}}).mayRun(set); err == nil || !strings.Contains(err.Error(), "runs no commands") {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := (streams{look: &hostedLook{host: &host{}}}).mayRun(set); err != nil {
		t.Error(err)
	}
}
