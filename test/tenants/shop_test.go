package tenants

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/html"
)

const (
	// slowOrder lies below what a premium customer's order by invoice takes, which
	// reads a table some sixty times over.
	slowOrder    = 8 * time.Millisecond
	wantedOrders = 4
	// mostRounds bounds the orders that are placed for that.
	mostRounds = 200
	// rulesOfOrder is how many of a customer's orders count for his credit: one rule
	// is looked up for each.
	rulesOfOrder = 60
	// Every fourth customer is premium. The number is one that passes for a card's.
	regular, premium = 3, 4
	card             = "4000001234567899"
	// products is how many the shop has, each with a limited stock. The longer the program takes to settle, the more orders are placed.
	products = 400
)

// An order is one that was placed, as its customer saw it.
type order struct {
	ID       int    `json:"id"`
	Customer int    `json:"customer"`
	Payment  string `json:"payment"`
	took     time.Duration
}

// A shop is the demo's shop, running.
type shop struct {
	*jvmtest.Running
	url string
}

func openShop(t *testing.T, jdk jvmtest.JDK) shop {
	t.Helper()
	h2 := filepath.Join(jarFolder, "h2.jar")
	if _, err := os.Stat(h2); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", h2)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: javaFiles(t, "../../demo/shop/src"), Classpath: []string{h2}, Flags: []string{"--release", "17"},
	})
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{quickly, "-cp", classes + string(os.PathListSeparator) + h2, "shop.Main"}})
	return shop{running, listening(t, running)}
}

// TestSlowOrdersOfPremiumCustomers traces what the demo's shop is slow at: premium
// customers' orders, of which those by invoice are. Customers know who they are and
// how long they waited.
func TestSlowOrdersOfPremiumCustomers(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run("jdk"+jdk.Version, func(t *testing.T) {
			s := openShop(t, jdk)
			orders := make(map[int]order)
			s.placeAll(t, orders) // all that is needed is loaded
			file := filepath.Join(t.TempDir(), "slow.json")
			tracing := startTracing(t, s.PID, "shop.order.Checkout.place", "--tag", "tier=$1.tier", "--when", `tx.tier == "PREMIUM"`,
				"--slower-than", slowOrder.String(), "--limit", strconv.Itoa(wantedOrders), "--duration", giveUp, "--levels", "6",
				"--capture", "$payment.name", "--capture", "$return.id", "-o", file)
			tracing.settle(t, func() { s.place(t, orders, premium, "card") })
			for rounds := 0; rounds < mostRounds && tracing.running(); rounds++ {
				s.placeAll(t, orders)
			}
			tracing.end(t)
			t.Logf("%s\n%s", tracing.stderr.String(), tracing.out.String())
			judgeOrders(t, readTrace(t, file), orders)
			nothingLeft(t, s.PID)
		})
	}
}

// judgeOrders expects orders of premium customers only, that took too long by the
// customer's account. Those by invoice have what made them slow.
func judgeOrders(t *testing.T, kept trace, orders map[int]order) {
	t.Helper()
	if len(kept.Transactions) != wantedOrders {
		t.Errorf("%d kept, want %d", len(kept.Transactions), wantedOrders)
	}
	byInvoice := 0
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		o, placed := orders[tx.Root.number(t, "$return.id")]
		payment := tx.Root.value(t, "$payment.name")
		if !placed || o.Customer != premium || o.Payment != payment || tx.Tags["tier"] != "PREMIUM" || o.took < slowOrder {
			t.Errorf("kept was the order %+v as %v, paid by %s", o, tx.Tags, payment)
		}
		delete(orders, o.ID) // none is there twice
		if payment != "invoice" {
			continue
		}
		byInvoice++
		if rules := tx.Root.below("shop.loyalty.TierRules.pointsPercent"); rules != rulesOfOrder {
			t.Errorf("order %d: %d rules were looked up, want %d", o.ID, rules, rulesOfOrder)
		}
	}
	if byInvoice == 0 {
		t.Error("no order by invoice is among them")
	}
}

// below is how many calls of a method there are, however deep.
func (c *call) below(method string) int {
	sum := 0
	for child := range c.inner() {
		if child.Class+"."+child.Method == method {
			sum += max(1, child.Calls)
		}
		sum += child.below(method)
	}
	return sum
}

// placeAll places an order of each kind.
func (s shop) placeAll(t *testing.T, orders map[int]order) {
	t.Helper()
	for _, customer := range []int{regular, premium} {
		for _, payment := range []string{"card", "invoice"} {
			s.place(t, orders, customer, payment)
		}
	}
}

// place places one order.
func (s shop) place(t *testing.T, orders map[int]order, customer int, payment string) {
	t.Helper()
	product := 1 + len(orders)%products
	s.post(t, fmt.Sprintf("cart?customer=%d&product=%d&quantity=1", customer, product))
	began := time.Now()
	answer := s.post(t, fmt.Sprintf("checkout?customer=%d&payment=%s&shipping=parcel&account=%s", customer, payment, card))
	took := time.Since(began)
	var o order
	if err := json.Unmarshal(answer, &o); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	o.took = took
	orders[o.ID] = o
}

func (s shop) post(t *testing.T, path string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("/%s: %s, %v: %s", path, response.Status, err, body)
	}
	return body
}

// jarFolder is where Debian keeps jars.
const jarFolder = "/usr/share/java"

// quickly makes a JVM compile fast rather than well: these live for seconds.
const quickly = "-XX:TieredStopAtLevel=1"

// tomcatJars are what a Tomcat 10 needs without pages of JSP, and the database.
var tomcatJars = []string{
	"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-servlet-api",
	"tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jni", "tomcat10-jaspic-api", "h2",
}

// A tomcat is one with the application of testdata, running.
type tomcat struct {
	*jvmtest.Running
	url string
}

func startTomcat(t *testing.T, jdk jvmtest.JDK) tomcat {
	t.Helper()
	var jars []string
	for _, name := range tomcatJars {
		jar := filepath.Join(jarFolder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			t.Skipf("NOT TESTED: %s is missing: install the Debian packages libtomcat10-java and libh2-java", jar)
		}
		jars = append(jars, jar)
	}
	flags := []string{"--release", "17"}
	server := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/server/Server.java"}, Classpath: jars, Flags: flags})
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: javaFiles(t, "testdata/src"), Classpath: jars, Flags: flags})
	application, err := filepath.Abs("testdata/webapp")
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join(append([]string{server}, jars...), string(os.PathListSeparator))
	// Tomcat keeps its files where it runs.
	running := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{quickly, "-cp", path, "Server", application, classes}, Dir: t.TempDir()})
	return tomcat{running, listening(t, running)}
}

// listening is where a program said that it is.
func listening(t *testing.T, r *jvmtest.Running) string {
	t.Helper()
	for line := range strings.Lines(r.Stdout()) {
		if url, ok := strings.CutPrefix(line, "listening "); ok {
			return strings.TrimSpace(url)
		}
	}
	t.Fatalf("it is ready and did not say where: %q", r.Stdout())
	return ""
}

func javaFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
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

// A visit is a request, by the application's own account. The time of the method that
// is traced lies between the two that it measured.
type visit struct {
	tenant, service string
	within, around  int64
}

// visits returns the visits that the application has reported, by number.
func (s tomcat) visits(t *testing.T) map[int]visit {
	t.Helper()
	reported := make(map[int]visit)
	for line := range strings.Lines(s.Stdout()) {
		var number int
		var v visit
		if !strings.HasPrefix(line, "answered ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "answered %d %s %s %d %d", &number, &v.tenant, &v.service, &v.within, &v.around); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		reported[number] = v
	}
	return reported
}

// requestLimit bounds a request that hangs; nothing depends on how long one takes.
const requestLimit = 2 * time.Minute

var client = http.Client{Timeout: requestLimit}

// visitors is how many ask at once.
const visitors = 3

var (
	companies = []string{"acme", "globex", "initech"}
	services  = []string{"catalog", "orders", "report"}
)

// visitAll lets every tenant ask for everything, some times over, from several
// visitors at once. Requests are numbered from first on. It returns when the
// application's account of each of them was read, which can be later than the answer.
func (s tomcat) visitAll(t *testing.T, first, rounds int) {
	t.Helper()
	type request struct{ number, path string }
	requests := make(chan request)
	var wait sync.WaitGroup
	for range visitors {
		wait.Go(func() {
			for r := range requests {
				s.ask(t, r.path, r.number)
			}
		})
	}
	number := first
	for range rounds {
		for _, company := range companies {
			for _, service := range services {
				requests <- request{strconv.Itoa(number), company + "/" + service}
				number++
			}
		}
	}
	close(requests)
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for range number - first {
		s.Await(t, "answered ")
	}
}

// ask returns an answer. It may be called by any goroutine.
func (s tomcat) ask(t *testing.T, path, number string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Error(err)
		return ""
	}
	request.Header.Set("X-Number", number)
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", path, response.Status, err)
	}
	return string(body)
}

// sondePath is the program, as it ships.
var sondePath string

func TestMain(m *testing.M) { os.Exit(jvmtest.WithSonde(&sondePath, m.Run)) }

// A tracing is a `sonde trace` that has put its hooks in.
type tracing struct {
	*exec.Cmd
	out, stderr bytes.Buffer
	settled     chan struct{} // closed when results begin
	read        chan struct{}
}

// settleCalls is how many calls are made while a trace waits until the program runs as before.
const settleCalls = 10

// settle makes some calls, and waits until results begin.
func (r *tracing) settle(t *testing.T, call func()) {
	t.Helper()
	for range settleCalls {
		call()
	}
	select {
	case <-r.settled:
	case <-r.read:
		t.Fatalf("the trace ended before the program had settled: %s", r.stderr.String())
	}
}

// startTracing returns when the hooks are in.
func startTracing(t *testing.T, pid int, args ...string) *tracing {
	t.Helper()
	args = append([]string{"trace", strconv.Itoa(pid), "--settle", "5m"}, args...)
	r := &tracing{Cmd: exec.Command(sondePath, args...), settled: make(chan struct{}), read: make(chan struct{})}
	r.Stdout = &r.out
	pipe, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	ready := make(chan struct{})
	go func() {
		defer close(r.read)
		lines := bufio.NewScanner(pipe)
		for waiting := true; lines.Scan(); {
			r.stderr.WriteString(lines.Text() + "\n")
			if waiting && strings.HasPrefix(lines.Text(), "hooks in ") {
				waiting = false
				close(ready)
			}
			if strings.HasSuffix(lines.Text(), "results begin now") {
				close(r.settled)
			}
		}
	}()
	select {
	case <-ready:
	case <-r.read:
		t.Fatalf("sonde %s ended: %s", strings.Join(args, " "), r.stderr.String())
	}
	return r
}

// running reports whether it has not ended yet.
func (r *tracing) running() bool {
	select {
	case <-r.read:
		return false
	default:
		return true
	}
}

// end waits until it has ended by itself, which it must do well.
func (r *tracing) end(t *testing.T) {
	t.Helper()
	<-r.read
	if err := r.Wait(); err != nil {
		t.Fatalf("sonde: %v\n%s", err, r.stderr.String())
	}
}

// nothingLeft expects that nothing of Sonde's is inside a program.
func nothingLeft(t *testing.T, pid int) {
	t.Helper()
	out, err := exec.Command(sondePath, "status", strconv.Itoa(pid)).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || !strings.HasPrefix(string(out), "Sonde has no hooks and no agent in") {
		t.Errorf("status: %v\n%s", err, out)
	}
}

// judgeFiles expects every call in every kind of file. Whether programs of others open
// them is shown by test/tenants/show.
func judgeFiles(t *testing.T, kept trace, files string) {
	t.Helper()
	chrome := readJSON[struct{ TraceEvents []struct{ Ph string } }](t, files+".perfetto.json")
	slices := 0
	for _, event := range chrome.TraceEvents {
		if event.Ph == "X" {
			slices++
		}
	}
	otlp := readJSON[struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []struct{} } }
	}](t, files+".otlp.json")
	spans := 0
	for _, resource := range otlp.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			spans += len(scope.Spans)
		}
	}
	if all := len(kept.calls()); slices != all || spans != all {
		t.Errorf("%d slices and %d spans of %d calls", slices, spans, all)
	}
	for _, extension := range []string{".html", ".txt"} {
		text, err := os.ReadFile(files + extension)
		if err != nil {
			t.Fatal(err)
		}
		if extension == ".html" {
			if text, err = html.Embedded(text); err != nil {
				t.Fatal(err)
			}
		}
		for i := range kept.Transactions {
			if number := kept.Transactions[i].Root.value(t, "$1.number"); !strings.Contains(string(text), number) {
				t.Errorf("request %s is not in %s", number, extension)
			}
		}
	}
}
