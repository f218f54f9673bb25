package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
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
	load := exec.CommandContext(ctx, jdk.Tool("java"), "-cp", s.classpath, "load.Main", s.url, "1")
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
