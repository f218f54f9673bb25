package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// Names as frameworks make them: nothing in a page may rely on short ones.
const (
	longClass = "org/springframework/transaction/interceptor/TransactionInterceptorDelegatingBeanFactoryPostProcessor$$EnhancerBySpringCGLIB$$4f1c2d3e"
	longName  = "lambda$invokeWithinTransactionAndCleanUpAfterCommitOrRollback$17"
	longArgs  = "(Lorg/springframework/beans/factory/config/ConfigurableListableBeanFactory;Ljava/util/function/BiFunction;J[[Ljava/lang/String;)Ljava/util/concurrent/CompletableFuture;"
)

// bigProfile is the sample with long names, deep stacks and many methods.
func bigProfile() *cct.Profile {
	p := richProfile()
	p.Target.Command = strings.ReplaceAll(longClass, "/", ".") + " --spring.config.location=/srv/applications/warehouse/config/application-production.yaml"
	p.Roots = append(p.Roots, strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	p.Threads[0].Name = "org.springframework.kafka.KafkaListenerEndpointContainer#0-0-C-1-warehouse-events-partition-17"
	root := p.Merged.Children[0]
	at := root
	for depth := range 70 {
		p.Methods = append(p.Methods, cct.Method{Class: fmt.Sprintf("%s%d", longClass, depth), Name: longName, Descriptor: longArgs})
		n := &cct.Node{Method: len(p.Methods) - 1, Calls: 123_456_789, Timed: 123_456_789, Self: cct.Time{Nanos: 3e9, Low: 2.9e9, High: 3.2e9}, Threw: 1_234_567, Running: 1, Missed: 3, Late: true}
		at.Children = append(at.Children, n)
		at = n
	}
	for i := range 400 {
		p.Methods = append(p.Methods, cct.Method{Class: fmt.Sprintf("com/acme/module%d/Service%d", i%23, i), Name: "process", Descriptor: "()V"})
		root.Children = append(root.Children, &cct.Node{Method: len(p.Methods) - 1, Calls: 1, Timed: 1, Self: cct.Time{Nanos: 1e6, Low: 1e6, High: 1e6}})
	}
	sum(p.Merged)
	p.Quiet = append(p.Quiet, cct.Quiet{Method: root.Children[0].Method, Reason: "1.2 M calls a second cost 1.4 %: switched off, its time is with its callers"})
	p.LeftAlone = append(p.LeftAlone, cct.LeftAlone{Class: longClass, Method: longName, Reason: "a native method whose prefix " + longName + " is not known"})
	p.Notes = append(p.Notes, "left alone: "+strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	return p
}

// sum brings the totals of a tree up to date.
func sum(n *cct.Node) {
	for _, child := range n.Children {
		sum(child)
	}
	withTotal(n)
}

// bigSamples has the tree of bigProfile as samples.
func bigSamples(t *testing.T) string {
	t.Helper()
	p := bigProfile()
	s := &Samples{Target: p.Target, Began: p.Began, Took: p.Took, Count: 123_456, Methods: p.Methods, Bias: "threads were asked at safepoints: a hot method may be a neighbour of the one named"}
	var add func(n *cct.Node, parent int)
	add = func(n *cct.Node, parent int) {
		s.Nodes = append(s.Nodes, SampleNode{Parent: parent, Method: n.Method, Self: n.Self.Nanos, Total: n.Total.Nanos, Kinds: map[string]float64{"compiled": 0.8, "inlined": 0.2}})
		at := len(s.Nodes) - 1
		for _, child := range n.Children {
			add(child, at)
		}
	}
	add(p.Merged, -1)
	var html bytes.Buffer
	if err := WriteSamples(&html, s); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

// bigClimb is the sample with long names.
func bigClimb(t *testing.T) *climb.Climb {
	c := shopClimb(t)
	c.Target.Command = strings.ReplaceAll(longClass, "/", ".")
	for i := range c.Methods {
		if i%2 == 0 {
			c.Methods[i].Class, c.Methods[i].Name, c.Methods[i].Descriptor = fmt.Sprintf("%s%d", longClass, i), longName, longArgs
		}
	}
	c.Batches[0].Why = "the hooks of " + strings.ReplaceAll(longClass, "/", ".") + " and of all that calls it"
	c.Notes = append(c.Notes, "left alone: "+strings.ReplaceAll(longClass, "/", ".")+"."+longName)
	return c
}
