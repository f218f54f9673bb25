package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestSecretsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"id=7&password=hunter2&x=1":                  "id=7&password=(redacted)&x=1",
		`{"user":"a","apiKey":"k\"1","n":1}`:         `{"user":"a","apiKey":(redacted),"n":1}`,
		"Login{name=bob, userPassword=abc, age=3}":   "Login{name=bob, userPassword=(redacted), age=3}",
		"Authorization: Bearer abcdef12345":          "Authorization: (redacted)",
		"authorization: Basic dXNlcjpwYXNz next":     "authorization: (redacted) next",
		"sent Bearer abcdef12345":                    "sent Bearer (redacted)",
		"jdbc:h2://sa:geheim@db/shop":                "jdbc:h2://sa:(redacted)@db/shop",
		"x eyJhbGciOi.eyJzdWIiOi.sig y":              "x (redacted) y",
		"SESSION_ID=42; theme=dark":                  "SESSION_ID=(redacted); theme=dark",
		"client-secret => 'a b c'":                   "client-secret => (redacted)",
		"card_number: 4111":                          "card_number: (redacted)",
		"password=(redactedhunter2":                  "password=(redacted)",
		`Authorization: password": "hunter2hunter2"`: "Authorization: (redacted) (redacted)",
		`pwd=" password": "hunter2", n=1`:            "pwd=(redacted): (redacted), n=1",
		"token=Bearer Bearer hunter2hunter2 x":       "token=(redacted) (redacted) x",
		"token=password=abc":                         "token=(redacted)",
		"nothing to hide, a=1":                       "nothing to hide, a=1",
		"basic information: 12":                      "basic information: 12",
		"the password is unknown":                    "the password is unknown",
	} {
		got, had := NewRedactor(nil).Text(text)
		if got != want || had != (got != text) {
			t.Errorf("%q: got %q (%v), want %q", text, got, had, want)
		}
		if again, _ := NewRedactor(nil).Text(got); again != got {
			t.Errorf("%q: not the same when done again: %q", got, again)
		}
	}
}

// TestRedactingIsLinear would not end otherwise.
func TestRedactingIsLinear(t *testing.T) {
	text := strings.Repeat("token=", 1<<14)
	if got, _ := NewRedactor(nil).Text(text); got != "token="+Mask {
		t.Errorf("got %d characters", len(got))
	}
}

func TestAllowedNamesAreShown(t *testing.T) {
	if got, had := NewRedactor([]string{"apiKey"}).Text("api_key=1 password=2"); got != "api_key=1 password=(redacted)" || !had {
		t.Errorf("got %q", got)
	}
	if got, _ := NewRedactor(secretNames).Text("api_key=1 password=2"); got != "api_key=1 password=2" {
		t.Errorf("got %q", got)
	}
}

// TestValuesAreCleanBeforeTheyAreSeen: a value whose expression is not known, or is
// named for a secret, has no text.
func TestValuesAreCleanBeforeTheyAreSeen(t *testing.T) {
	names := &liveprobes.Names{Spots: map[uint32]probes.SpotName{}}
	a := NewAssembler(Options{Names: func() *liveprobes.Names { return names }, Redact: NewRedactor(nil)})
	for index, text := range []string{"token=abc", "plain", "hidden", "not asked for"} {
		a.Add(1, arena.Record{Kind: arena.ValueRecord, Transaction: 5, Index: uint8(index), Text: text})
	}
	a.Add(1, call(5, 0, 0, 10))
	tx := a.Take(100)[0]
	for _, v := range tx.Root.Values {
		if v.Text != "" {
			t.Errorf("shown before it was known: %+v", v)
		}
	}
	names.Spots[1] = probes.SpotName{Class: "A", Name: "m", Captures: []probes.CaptureName{
		{Index: 0, Text: "$query"}, {Index: 1, Text: "$name"}, {Index: 2, Text: "$password", Redacted: true},
	}}
	if !tx.Resolve(names, NewRedactor(nil)) {
		t.Error("not resolved")
	}
	want := []Value{
		{Index: 0, Expression: "$query", Text: "token=(redacted)", Redacted: true, raw: "token=abc"},
		{Index: 1, Expression: "$name", Text: "plain", raw: "plain"},
		{Index: 2, Expression: "$password", Redacted: true},
	}
	if len(tx.Root.Values) != len(want) {
		t.Fatalf("values %+v", tx.Root.Values)
	}
	for i, v := range want {
		if tx.Root.Values[i] != v {
			t.Errorf("value %d: %+v", i, tx.Root.Values[i])
		}
	}
}

// TestAnswers: the outermost call of a transaction says what it answers, if tags of its category know it.
func TestAnswers(t *testing.T) {
	tag := func(name, value string) results.TagValue {
		return results.TagValue{Name: name, Value: value, Set: true}
	}
	status := []probes.CaptureName{{Index: probes.ExitCapture, Text: categories.StatusName}}
	values := func() []Value { return []Value{{Index: probes.ExitCapture, AtExit: true, raw: "503"}} }
	request := []results.TagValue{tag("sonde_in_web_path", "/pay/{}"), tag("sonde_in_web_method", "POST"), tag("tier", "gold")}
	for _, test := range []struct {
		category string
		tags     []results.TagValue
		want     string
	}{
		{"web", request, "web true POST /pay/{}"},
		{"messaging", append(request, tag("sonde_in_messaging_source", "orders?password=x1")), "messaging true orders?password=(redacted)"},
		{"messaging", request, " false "},
		{"web", []results.TagValue{{Name: "sonde_in_web_path", Set: true, Null: true}}, " false "},
		{"", request, " false "},
	} {
		names := &liveprobes.Names{
			Spots:  map[uint32]probes.SpotName{1: {Class: "A", Name: "m", Category: test.category, Answers: test.category != "", Captures: status}},
			Labels: map[uint32]liveprobes.Label{9: {Tags: test.tags}},
		}
		inner := &Call{Spot: 1, label: 9, Values: values()}
		tx := &Transaction{Root: &Call{Spot: 1, label: 9, Values: values(), Children: []*Call{inner}}}
		if !tx.Resolve(names, NewRedactor(nil)) {
			t.Fatal("not resolved")
		}
		if c := tx.Root; c.Incoming != (c.Status == 503) || inner.Status != 0 || test.category != "" && len(c.Values) > 0 {
			t.Errorf("%s: the status is %d, of the inner call %d, with the values %v", test.category, c.Status, inner.Status, c.Values)
		}
		if c := tx.Root; fmt.Sprint(c.Category, " ", c.Incoming, " ", c.Target) != test.want {
			t.Errorf("%s %+v: got %s %v %s, want %s", test.category, test.tags, c.Category, c.Incoming, c.Target, test.want)
		}
		if inner.Category != "" || inner.Incoming {
			t.Errorf("the inner call answers as well: %+v", inner)
		}
	}
}

func TestParents(t *testing.T) {
	const traceID, spanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for text, isGood := range map[string]bool{
		traceID + "-" + spanID:                  true,
		traceID:                                 true,
		"":                                      false,
		"-":                                     false,
		traceID + "-":                           false,
		traceID + "-" + spanID + "-01":          false,
		traceID[1:] + "-" + spanID:              false,
		strings.ToUpper(traceID) + "-" + spanID: false,
		"g" + traceID[1:]:                       false,
		strings.Repeat("0", 32):                 false,
		traceID + "-" + strings.Repeat("0", 16): false,
	} {
		got, err := ParseParent(text)
		if (err == nil) != isGood || !isGood && got != (Parent{}) {
			t.Errorf("%q: got %x, %v; want one: %v", text, got, err, isGood)
		}
		if isGood && !strings.HasPrefix(fmt.Sprintf("%x-%x", got.Trace, got.Span), text) {
			t.Errorf("%q became %x", text, got)
		}
	}
}

// TestTransactionsOfOthers: a transaction has the trace that its root has recorded. It is no value of a call.
func TestTransactionsOfOthers(t *testing.T) {
	for text, isJoined := range map[string]bool{"4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7": true, "nonsense": false} {
		a := NewAssembler(Options{Names: func() *liveprobes.Names { return &liveprobes.Names{} }})
		a.Add(1, arena.Record{Kind: arena.ValueRecord, Transaction: 5, Index: arena.TraceValue, Text: text})
		a.Add(1, call(5, 1, 2, 3))
		a.Add(1, call(5, 0, 0, 10))
		tx := a.Take(100)[0]
		want := OwnID(Target{}, tx)
		if isJoined {
			want = [16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}
		}
		if got := ID(Target{}, tx); got != want || (tx.Parent.Span != [8]byte{}) != isJoined || len(tx.Root.Values) != 0 {
			t.Errorf("%q: trace %x with parent %x and values %v, want trace %x", text, got, tx.Parent.Span, tx.Root.Values, want)
		}
	}
}

// FuzzRedact puts a secret into any text. It is gone, and what is redacted has nothing more to redact.
func FuzzRedact(f *testing.F) {
	f.Add("{\"a\", \"", "\", b='", uint8(0))
	f.Add("Order[7, ", "]", uint8(1))
	f.Add("https", "host/?token="+Mask, uint8(2))
	f.Add("Authorization", "\n", uint8(3))
	f.Add("Authorization:", "", uint8(0))
	f.Add("token=Bearer", "", uint8(3))
	r := NewRedactor(nil)
	f.Fuzz(func(t *testing.T, before, after string, form uint8) {
		const secret = "hunter2hunter2"
		forms := []string{`password": "` + secret + `"`, "apiKey=" + secret, "://u:" + secret + "@", "Bearer " + secret}
		text := before + " " + forms[int(form)%len(forms)] + " " + after
		clean, changed := r.Text(text)
		if !changed || strings.Count(clean, secret) > strings.Count(before+after, secret) {
			t.Errorf("%q became %q", text, clean)
		}
		if again, _ := r.Text(clean); again != clean {
			t.Errorf("%q became %q, then %q", text, clean, again)
		}
	})
}
