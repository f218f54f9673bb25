package tenants

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
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
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run("jdk"+jdk.Version, func(t *testing.T) {
			s := openShop(t, jdk)
			orders := make(map[int]order)
			s.placeAll(t, orders) // all that is needed is loaded
			file := filepath.Join(t.TempDir(), "slow.json")
			tracing := startTracing(t, s.PID, "shop.order.Checkout.place", "--tag", "tier=$1.tier", "--when", `tx.tier == "PREMIUM"`,
				"--slower-than", slowOrder.String(), "--limit", strconv.Itoa(wantedOrders), "--for", giveUp, "--levels", "6",
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
	for i := range c.Children {
		child := &c.Children[i]
		if child.Class+"."+child.Method == method {
			sum++
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
	s.post(t, fmt.Sprintf("cart?customer=%d&product=1&quantity=1", customer))
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
