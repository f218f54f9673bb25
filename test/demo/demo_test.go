package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
)

// TestEveryTypeOfRequest shops once, from the first page to the invoice, and
// asks for what the shop must refuse.
func TestEveryTypeOfRequest(t *testing.T) {
	onAll(t, func(t *testing.T, jdk jvmtest.JDK, s shop) {
		wants(t, s.get(t, http.StatusOK, ""), "<h1>The shop: garden</h1>", "/?category=kitchen", "/product?id=")
		wants(t, s.get(t, http.StatusOK, "search?q=Kettle"), `"name":"blue kettle`)
		wants(t, s.get(t, http.StatusOK, "product?id=17"), "compact", "500 in stock")
		wants(t, s.post(t, http.StatusOK, fmt.Sprintf("cart?customer=%d&product=17&quantity=3", regular)), `"quantity":3`)

		order := s.checkOut(t, regular, "card")
		history := s.get(t, http.StatusOK, fmt.Sprintf("orders?customer=%d", regular))
		wants(t, history, fmt.Sprintf(`[{"id":%d,`, order), `"payment":"card"`)
		wants(t, s.get(t, http.StatusOK, fmt.Sprintf("invoice?order=%d", order)), "Customer 3", "<td>3</td><td>compact", "Total ")
		wants(t, s.get(t, http.StatusOK, "product?id=17"), "497 in stock")

		s.get(t, http.StatusNotFound, "product?id=100000")
		s.get(t, http.StatusNotFound, "nowhere")
		s.get(t, http.StatusBadRequest, "product?id=x")
		s.post(t, http.StatusBadRequest, checkoutPath(regular, "card", card)) // the cart is empty
		s.fillCart(t, regular)
		s.post(t, http.StatusPaymentRequired, checkoutPath(regular, "card", "4000001234567890"))
		testLoad(t, jdk, s)
	})
}

// testLoad lets the customers in for a second: they end by themselves, and end
// well only if the shop answered all they asked as it should.
func testLoad(t *testing.T, jdk jvmtest.JDK, s shop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jvmtest.RunLimit)
	defer cancel()
	load := exec.CommandContext(ctx, jdk.Tool("java"), append(slices.Clone(jvmtest.Brief), "-cp", s.classpath, "load.Main", s.url, "1")...)
	var said bytes.Buffer
	load.Stdout, load.Stderr = &said, &said
	stdin, err := load.StdinPipe() // it would end with its input
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := load.Run(); err != nil || !strings.HasPrefix(said.String(), "REQUESTS") {
		t.Errorf("the load: %v\n%s", err, said.String())
	}
}

// TestOneKindOfCheckoutIsSlow counts the statements of a checkout for both kinds
// of customers and payments: only premium customers who pay by invoice cause one
// for each order they placed before.
func TestOneKindOfCheckoutIsSlow(t *testing.T) {
	onAll(t, func(t *testing.T, _ jvmtest.JDK, s shop) {
		const few, many = 10, 60
		for _, test := range []struct {
			customer int
			payment  string
			slow     bool
		}{
			{regular, "card", false},
			{regular, "invoice", false},
			{premium, "card", false},
			{premium, "invoice", true},
		} {
			s.fillCart(t, test.customer)
			before := s.statements(t)
			s.checkOut(t, test.customer, test.payment)
			count := s.statements(t) - before
			if test.slow && count < many || !test.slow && count > few {
				t.Errorf("checkout of customer %d by %s: %d statements; want at least %d if slow (%v), else at most %d",
					test.customer, test.payment, count, many, test.slow, few)
			}
		}
	})
}

// TestProbesCanBePacked: sonde plan and sonde pack accept the file of the demo, and say what a pack leaves out.
func TestProbesCanBePacked(t *testing.T) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2Jar)
	}
	text, err := os.ReadFile("../../demo/probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set, err := probeset.Parse(text, "probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	jdk := jvmtest.OneJDK(t)[0]
	planned, err := build.Plan(t.Context(), []string{compile(t, jdk)}, set, build.Settings{Image: jdk.Image(), Probes: text})
	if err != nil {
		t.Fatal(err)
	}
	content, err := planned.Content()
	if err != nil || len(content.Classes) != 6 {
		t.Errorf("the pack: %v, %d classes; want 6", err, len(content.Classes))
	}
	wants(t, strings.Join(planned.Dropped, "\n"), "there is no tag tier: ", "results of probe checkout are not grouped by tier", "there is no probe slow-premium")
}

func checkoutPath(customer int, payment, account string) string {
	return fmt.Sprintf("checkout?customer=%d&payment=%s&shipping=parcel&account=%s", customer, payment, account)
}

func (s shop) fillCart(t *testing.T, customer int) {
	t.Helper()
	s.post(t, http.StatusOK, fmt.Sprintf("cart?customer=%d&product=1&quantity=1", customer))
}

// checkOut returns the number of the order.
func (s shop) checkOut(t *testing.T, customer int, payment string) int64 {
	t.Helper()
	var order struct {
		ID       int64  `json:"id"`
		Customer int    `json:"customer"`
		Cents    int64  `json:"cents"`
		Payment  string `json:"payment"`
	}
	decode(t, s.post(t, http.StatusCreated, checkoutPath(customer, payment, card)), &order)
	if order.Customer != customer || order.Payment != payment || order.Cents <= 0 {
		t.Errorf("checkout of customer %d by %s made the order %+v", customer, payment, order)
	}
	return order.ID
}

// statements is what the shop's own counter of SQL statements says.
func (s shop) statements(t *testing.T) int64 {
	t.Helper()
	var stats struct {
		Statements int64 `json:"statements"`
	}
	decode(t, s.get(t, http.StatusOK, "stats"), &stats)
	return stats.Statements
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not the JSON it should be: %v\n%s", err, text)
	}
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

const (
	sources = "../../demo/shop/src"
	h2Jar   = "/usr/share/java/h2.jar"
)

// Every fourth customer is premium. The number is one that passes for a card's.
const (
	regular = 3
	premium = 4
	card    = "4000001234567899"
)

// requestLimit bounds a request that hangs; nothing depends on how long one takes.
const requestLimit = 2 * time.Minute

// A shop is the demo's shop, running.
type shop struct {
	url, classpath string
}

// onAll runs a test against a new shop, which needs no more of a JDK than any has.
func onAll(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK, s shop)) {
	if _, err := os.Stat(h2Jar); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2Jar)
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			test(t, jdk, open(t, jdk))
		})
	}
}

func compile(t *testing.T, jdk jvmtest.JDK) (classes string) {
	t.Helper()
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: javaFiles(t), Classpath: []string{h2Jar}, Flags: []string{"--release", "17"}})
}

func open(t *testing.T, jdk jvmtest.JDK) shop {
	t.Helper()
	s := shop{classpath: compile(t, jdk) + string(os.PathListSeparator) + h2Jar}
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", s.classpath, "shop.Main"}})
	const listening = "listening "
	for line := range strings.Lines(running.Stdout()) {
		if url, ok := strings.CutPrefix(line, listening); ok {
			s.url = strings.TrimSpace(url)
			return s
		}
	}
	t.Fatalf("the shop is ready and did not say where: %q", running.Stdout())
	return s
}

func javaFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(sources, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".java" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// get and post return what a request is answered, and want this status.
func (s shop) get(t *testing.T, status int, path string) string {
	t.Helper()
	return s.ask(t, status, http.MethodGet, path)
}

func (s shop) post(t *testing.T, status int, path string) string {
	t.Helper()
	return s.ask(t, status, http.MethodPost, path)
}

func (s shop) ask(t *testing.T, status int, method, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: requestLimit}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s /%s: %v", method, path, err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s /%s was answered %d, want %d: %s", method, path, response.StatusCode, status, body)
	}
	return string(body)
}
