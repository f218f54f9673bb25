package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A problem is what a search should find.
type problem struct {
	name, describe string
	program        *program
	slowerThan     time.Duration
	arguments      []string // further ones of sonde drill
	options        []string // of java, or of the clients of H2
	isRemote       bool     // the program asks a server, which is slow one time in twenty
	order          func(o *order)
	request        func() string // of a client, if it sends no orders

	kinds []drill.Kind // that the cause may have
	named []string     // that the summary or the path must contain; "%remote" is the address of the server
	when  string       // that the condition must contain
}

// An order is what a client sends to the office.
type order struct {
	kind, customer, weight int
	tenant, address        string
	annual                 bool
}

var tenants = []string{"acme", "initech", "umbrella", "hooli", "globex"}

// kindsUsed is how many kinds of orders clients send: each has a handler of its own.
const kindsUsed = 12

func newOrder(n int) *order {
	return &order{kind: n % kindsUsed, customer: rand.IntN(100), weight: rand.IntN(1000), tenant: tenants[rand.IntN(len(tenants))], address: fmt.Sprintf("High Street %d, Northtown", n%200)}
}

func (o *order) path() string {
	query := url.Values{"tenant": {o.tenant}, "customer": {fmt.Sprint(o.customer)}, "weight": {fmt.Sprint(o.weight)}, "address": {o.address}}
	if o.annual {
		query.Set("annual", "true")
	}
	return fmt.Sprintf("/%d?%s", o.kind, query.Encode())
}

// goal is slower than all that the program does without a problem, also on a busy machine.
const goal = 60 * time.Millisecond

var problems = []problem{
	{
		name: "lock", describe: "lock contention: a thread writes the ledger and keeps the lock of invoice numbers for that time", program: &office, slowerThan: goal,
		kinds: []drill.Kind{drill.Locked},
		named: []string{"waits for a lock in office.service.InvoiceNumbers.next: office.service.InvoiceNumbers, ", `held by thread "ledger-export" in office.service.`},
	},
	{
		name: "n+1", describe: "a query for each order of a customer; some customers have 6,000", program: &office, slowerThan: goal,
		named: []string{"calls office.dao.LineDao.sumOf "},
		// With the JDK's choice of a collector and a heap on a large machine, collections take longer than the queries of a slow request, and drill rightly names them.
		options: []string{"-XX:+UseSerialGC", "-Xmn32m"},
	},
	{
		name: "tenant", describe: "one tenant has so many tariffs that a search through all takes long", program: &office, slowerThan: goal,
		kinds: []drill.Kind{drill.Computes}, named: []string{"office.service.TariffTable.find"}, when: "tenant=globex",
	},
	{
		name: "regex", describe: "a regular expression that backtracks if an address has no number", program: &office, slowerThan: goal,
		order: func(o *order) {
			if rand.IntN(12) == 0 {
				o.address = strings.Repeat("Upper Northern Street ", 12)
			}
		},
		kinds: []drill.Kind{drill.Computes}, named: []string{"office.service.Addresses.isComplete", "java.util.regex."},
	},
	{
		name: "gc", describe: "papers for a year keep many rows in memory, in a heap that has little room", program: &office, slowerThan: goal,
		options: []string{"-Xmx256m", "-Xms256m", "-XX:+UseSerialGC"},
		order:   func(o *order) { o.annual = rand.IntN(40) == 0 },
		kinds:   []drill.Kind{drill.Stopped}, named: []string{"collect garbage", "office.service.Statements."}, when: "annual=true",
	},
	{
		name: "remote", describe: "a server of another company is slow one time in twenty", program: &office, slowerThan: goal, isRemote: true,
		kinds: []drill.Kind{drill.DoesIO}, named: []string{"office.service.Carriers$Remote.ask waits for I/O", "%remote"},
	},
	{
		name: "pool", describe: "a pool of one database connection, which a thread with a long query has at times", program: &office, slowerThan: goal,
		kinds: []drill.Kind{drill.Parks}, named: []string{"org.apache.tomcat.dbcp.", "office.dao.Database.connect"},
	},
	{name: "healthy", describe: "none", program: &office, slowerThan: 5 * goal, arguments: []string{"--duration", "40s"}},
	{
		name: "tomcat", describe: "a pool of one connection in its settings", program: &tomcat, slowerThan: goal, options: []string{"-Dorders.connections=1"},
		request: report, kinds: []drill.Kind{drill.Parks}, named: []string{"org.apache.tomcat.dbcp.", "orders.Orders."},
	},
	{
		name: "h2", describe: "a table without an index for one of two queries", program: &h2, slowerThan: goal, options: []string{"none"},
		kinds: []drill.Kind{drill.Computes}, named: []string{"org.h2.command.query.Select."},
	},
}

// report asks a web server for the orders of a customer, and sometimes for a report of 40 ms.
func report() string {
	if rand.IntN(3) == 0 {
		return "/orders?customer=7&report=true"
	}
	return fmt.Sprintf("/orders?customer=%d", rand.IntN(100))
}

// path returns what a client asks for.
func (p *problem) path(n int) string {
	if p.request != nil {
		return p.request()
	}
	o := newOrder(n)
	if p.order != nil {
		p.order(o)
	}
	return o.path()
}

// missing returns what a result does not say, although it should.
func (p *problem) missing(found *document.Drill, remote string) (missing []string) {
	if p.named == nil {
		if found.Ended != "healthy" {
			missing = append(missing, "that it is healthy")
		}
		return missing
	}
	if found.Cause == nil {
		return []string{"a cause"}
	}
	if found.Ended != "cause" {
		missing = append(missing, "the end of the search: "+found.Ended)
	}
	if len(p.kinds) > 0 && !slices.Contains(p.kinds, found.Cause.Kind) {
		missing = append(missing, fmt.Sprintf("%s instead of %s", p.kinds[0], found.Cause.Kind))
	}
	said := strings.Join(found.Summary, "\n")
	for _, l := range found.Path {
		said += "\n" + l.Name()
	}
	for _, text := range append(slices.Clone(p.named), p.when) {
		text = strings.ReplaceAll(text, "%remote", remote)
		if !strings.Contains(said, text) {
			missing = append(missing, text)
		}
	}
	return missing
}
