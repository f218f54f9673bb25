package html

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A sampleCall is a method of the sample program: whom it calls how often, and how
// long it takes itself.
type sampleCall struct {
	method  string // class.name descriptor
	per     float64
	self    float64 // nanoseconds
	callees []sampleCall
}

// shopCheckout is the checkout of a shop that nobody has: rich enough to show what
// a page must show.
var shopCheckout = sampleCall{"shop/web/CheckoutHandler.handle (Lshop/web/Request;)Lshop/web/Response;", 1, 42_000, []sampleCall{
	{"shop/web/Session.load (Ljava/lang/String;)Lshop/web/Session;", 1, 9_000, []sampleCall{
		{"java/util/HashMap.get (Ljava/lang/Object;)Ljava/lang/Object;", 4, 21, nil},
		{"org/h2/jdbc/JdbcPreparedStatement.executeQuery ()Ljava/sql/ResultSet;", 1, 31_000, []sampleCall{
			{"org/h2/command/CommandContainer.query (JZ)Lorg/h2/result/ResultInterface;", 1, 12_000, []sampleCall{
				{"org/h2/index/IndexCursor.next ()Z", 40, 310, []sampleCall{
					{"org/h2/mvstore/MVMap.get (Ljava/lang/Object;)Ljava/lang/Object;", 1, 240, nil},
				}},
				{"org/h2/expression/Comparison.getValue (Lorg/h2/engine/SessionLocal;)Lorg/h2/value/Value;", 80, 33, nil},
			}},
		}},
	}},
	{"shop/order/Cart.total (Lshop/order/Customer;)Ljava/math/BigDecimal;", 1, 6_500, []sampleCall{
		{"shop/order/Cart$Line.price ()Ljava/math/BigDecimal;", 7, 820, []sampleCall{
			{"java/math/BigDecimal.multiply (Ljava/math/BigDecimal;)Ljava/math/BigDecimal;", 2, 96, nil},
		}},
		{"shop/order/Discount.lambda$forTier$0 (Lshop/order/Tier;)Z", 7, 18, nil},
	}},
	{"shop/payment/PaymentService.pay (Lshop/order/Customer;Ljava/math/BigDecimal;)Lshop/payment/Receipt;", 1, 18_000, []sampleCall{
		{"shop/payment/InvoicePayment.settle (Lshop/payment/Order;)V", .35, 21_000, []sampleCall{
			{"shop/payment/CreditCheck.score (Lshop/order/Customer;)I", 1, 15_000, []sampleCall{
				{"shop/payment/History.replay (Lshop/order/Customer;)Ljava/util/List;", 1, 64_000, []sampleCall{
					{"shop/payment/LedgerEntry.verify ([B)Z", 220, 7_400, []sampleCall{
						{"java/security/MessageDigest.digest ([B)[B", 2, 1_900, []sampleCall{
							{"sun/security/provider/SHA2.implCompress0 ([BI)V", 3, 410, nil},
						}},
					}},
				}},
			}},
		}},
		{"shop/payment/CardPayment.settle (Lshop/payment/Order;)V", .65, 88_000, []sampleCall{
			{"java/net/SocketInputStream.socketRead0 (Ljava/io/FileDescriptor;[BIII)I", 3, 96_000, nil},
		}},
	}},
	{"shop/order/OrderStore.save (Lshop/order/Order;)J", 1, 14_000, []sampleCall{
		{"org/h2/jdbc/JdbcPreparedStatement.executeUpdate ()I", 3, 22_000, []sampleCall{
			{"org/h2/command/CommandContainer.update (Ljava/lang/Object;)Lorg/h2/result/ResultWithGeneratedKeys;", 1, 17_000, []sampleCall{
				{"org/h2/mvstore/MVMap.operate (Ljava/lang/Object;Ljava/lang/Object;Lorg/h2/mvstore/MVMap$DecisionMaker;)Ljava/lang/Object;", 6, 2_700, []sampleCall{
					{"org/h2/mvstore/Page.binarySearch (Ljava/lang/Object;)I", 4, 140, nil},
					{"org/h2/mvstore/Page.copy ()Lorg/h2/mvstore/Page;", 1, 690, nil},
				}},
			}},
			{"org/h2/mvstore/FileStore.writeFully (JLjava/nio/ByteBuffer;)V", .2, 420_000, nil},
		}},
	}},
	{"shop/web/Template.render (Lshop/web/Node;)V", 1, 11_000, []sampleCall{
		{"shop/web/Template.render (Lshop/web/Node;)V", 3, 9_000, []sampleCall{
			{"shop/web/Template.render (Lshop/web/Node;)V", 2.4, 7_000, []sampleCall{
				{"shop/web/Template.render (Lshop/web/Node;)V", 1.8, 5_600, []sampleCall{
					{"shop/web/Escape.html (Ljava/lang/String;)Ljava/lang/String;", 5, 260, nil},
				}},
				{"shop/web/Escape.html (Ljava/lang/String;)Ljava/lang/String;", 5, 260, nil},
			}},
		}},
	}},
}}

// A sampler makes profiles of sample programs.
type sampler struct {
	random  *rand.Rand
	methods []cct.Method
	index   map[string]int
}

func newSampler() *sampler {
	return &sampler{random: rand.New(rand.NewPCG(4, 2)), index: map[string]int{}}
}

func (s *sampler) method(text string) int {
	if at, known := s.index[text]; known {
		return at
	}
	full, descriptor, _ := strings.Cut(text, " ")
	dot := strings.LastIndexByte(full, '.')
	s.index[text] = len(s.methods)
	s.methods = append(s.methods, cct.Method{
		Class: full[:dot], Name: full[dot+1:], Descriptor: descriptor, Native: strings.HasSuffix(full, "0"),
	})
	return len(s.methods) - 1
}

// tree is what so many calls leave behind. Every fourth method with many calls is
// sampled, and very short ones are only counted.
func (s *sampler) tree(c sampleCall, calls float64) *cct.Node {
	n := &cct.Node{Method: s.method(c.method), Calls: uint64(calls + .5)}
	self := c.self * calls * (.9 + .2*s.random.Float64())
	n.Self = cct.Time{Nanos: self, Low: self * .985, High: self * 1.01}
	n.Timed = n.Calls
	switch {
	case c.self < 25:
		n.Timed, n.Self = 0, cct.Time{}
	case c.self < 100:
		n.Self.Low, n.Self.High = self*.4, self*1.3
	case c.self < 500:
		n.Timed = n.Calls / 16
		n.Self.Low, n.Self.High = self*.93, self*1.07
	}
	n.Max = time.Duration(c.self * 9)
	if strings.Contains(c.method, "Payment.settle") {
		n.Threw = n.Calls / 90
		n.Missed = 2
	}
	for _, callee := range c.callees {
		n.Children = append(n.Children, s.tree(callee, calls*callee.per))
	}
	return withTotal(n)
}

// withTotal sums up a node and sorts its callees.
func withTotal(n *cct.Node) *cct.Node {
	n.Total = n.Self
	for _, child := range n.Children {
		n.Total.Nanos += child.Total.Nanos
		n.Total.Low += child.Total.Low
		n.Total.High += child.Total.High
	}
	slices.SortStableFunc(n.Children, func(a, b *cct.Node) int {
		if a.Total.Nanos > b.Total.Nanos {
			return -1
		}
		return 1
	})
	return n
}

// recursion is a method that calls itself so deep.
func (s *sampler) recursion(depth int) *cct.Node {
	var below []*cct.Node
	for d := depth; d > 0; d-- {
		n := &cct.Node{Method: s.method("shop/order/Category.descend (I)V"), Calls: 900, Timed: 900, Children: below}
		n.Self = cct.Time{Nanos: 2.1e5, Low: 2e5, High: 2.2e5}
		below = []*cct.Node{withTotal(n)}
	}
	return below[0]
}

// richProfile has everything a page shows.
func richProfile() *cct.Profile {
	s := newSampler()
	p := &cct.Profile{
		Target: cct.Target{PID: 48213, Command: "shop.Main", JDK: "17.0.15"},
		Roots:  []string{"shop.web.CheckoutHandler.handle"},
		Began:  time.Date(2026, 5, 4, 14, 2, 31, 0, time.UTC), Took: 92*time.Second + 400*time.Millisecond,
		Scheme: "lazy", Why: "the classes loaded so far would need 3,912 hooks at once, and the root’s first calls reached 41.",
		Timing: cct.Auto, Merged: &cct.Node{Method: -1},
	}
	for i, calls := range []float64{5210, 4102, 3311, 1800, 640} {
		top := &cct.Node{Method: -1, Children: []*cct.Node{s.tree(shopCheckout, calls)}}
		if i == 1 {
			root := top.Children[0]
			root.Children = append(root.Children, s.recursion(40))
			withTotal(root)
			root.Running = 1
			root.Lost = 210 * time.Millisecond
		}
		p.Threads = append(p.Threads, cct.Thread{ID: uint64(31 + i), Name: fmt.Sprintf("http-worker-%d", i+1), Virtual: i == 4, Top: withTotal(top)})
		merge(p.Merged, top)
	}
	p.Methods = s.methods
	p.Categorize(nil)
	late := p.Merged.Children[0].Children[0]
	late.Late = true
	p.Calibration = cct.Calibration{
		Inner: cct.Span{Median: 31.4, Low: 29.8, High: 34.9}, Outer: cct.Span{Median: 44.2, Low: 41.1, High: 49.3},
		Count: cct.Span{Median: 3.1, Low: 2.7, High: 3.9}, Overlap: 38, Times: 12,
	}
	p.Cost = cct.Cost{
		Hooks: 41, Classes: 29, Closure: 3912, Rounds: 4, Pause: 61 * time.Millisecond, Compile: 1900 * time.Millisecond,
		Waited: 38 * time.Millisecond, Steady: .0164, Budget: .02,
	}
	p.Quiet = []cct.Quiet{
		{Method: s.method("java/util/HashMap.get (Ljava/lang/Object;)Ljava/lang/Object;"), Reason: "at 1.2 M calls per second its hook would cost 1.4 %, so it was switched off; the method's time is included in that of its callers"},
		{Method: s.method("org/h2/expression/Comparison.getValue (Lorg/h2/engine/SessionLocal;)Lorg/h2/value/Value;"), Reason: "0.3 M calls a second cost 0.8 %: one in 64 timed"},
	}
	for i := range 60 {
		p.LeftAlone = append(p.LeftAlone, cct.LeftAlone{Class: fmt.Sprintf("org/h2/generated/Accessor%d", i), Reason: "its bytes could not be proven to be those the JVM runs"})
	}
	p.LeftAlone = append(p.LeftAlone, cct.LeftAlone{Class: "java/lang/Thread", Method: "run", Reason: "hooks themselves depend on it"})
	p.Notes = []string{
		"This JDK does not record dependencies: the first redefinition made it compile everything anew, which cost 2.1 s of work.",
		"2 calls went on before all their callees had hooks.",
	}
	return p
}

// merge adds the nodes under from to those under to.
func merge(to, from *cct.Node) {
	for _, f := range from.Children {
		at := slices.IndexFunc(to.Children, func(n *cct.Node) bool { return n.Method == f.Method })
		if at < 0 {
			to.Children = append(to.Children, &cct.Node{Method: f.Method})
			at = len(to.Children) - 1
		}
		t := to.Children[at]
		t.Calls += f.Calls
		t.Threw += f.Threw
		t.Timed += f.Timed
		t.Running += f.Running
		t.Missed += f.Missed
		t.Lost += f.Lost
		t.Max = max(t.Max, f.Max)
		t.Self = cct.Time{Nanos: t.Self.Nanos + f.Self.Nanos, Low: t.Self.Low + f.Self.Low, High: t.Self.High + f.Self.High}
		merge(t, f)
		withTotal(t)
	}
	withTotal(to)
}

// hugeProfile has about this number of nodes.
func hugeProfile(nodes int) *cct.Profile {
	s := newSampler()
	root := &cct.Node{Method: s.method("app0/Main.run ()V"), Calls: 10, Timed: 10}
	all := []*cct.Node{root}
	for len(all) < nodes {
		parent := all[len(all)-1-int(float64(len(all)-1)*s.random.Float64()*s.random.Float64()*s.random.Float64())]
		if s.random.IntN(3) == 0 {
			parent = all[s.random.IntN(len(all))]
		}
		name := fmt.Sprintf("app%d/part/Class%d.method%d (I)V", s.random.IntN(7), s.random.IntN(120), s.random.IntN(9))
		self := 1e6 * s.random.ExpFloat64()
		n := &cct.Node{Method: s.method(name), Calls: 100, Timed: 100, Self: cct.Time{Nanos: self, Low: self * .9, High: self * 1.1}}
		parent.Children = append(parent.Children, n)
		all = append(all, n)
	}
	for i := range all {
		withTotal(all[len(all)-1-i])
	}
	top := &cct.Node{Method: -1, Children: []*cct.Node{root}}
	p := richProfile()
	p.Merged, p.Threads, p.Methods, p.Quiet = withTotal(top), nil, s.methods, nil
	return p
}
