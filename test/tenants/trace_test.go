package tenants

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
)

// A trace is what is looked at of the files that Sonde writes.
type trace struct {
	Transactions []transaction
	Losses       map[string]uint64
}

type transaction struct {
	TraceID string
	Tags    map[string]string
	Root    call
	Parts   []call
}

type call struct {
	Class, Method, ThreadName string
	MeasuredNanos             int64
	Values                    []struct{ Expression, Text string }
	Children                  []call
	caller                    string
}

// value is what was captured by an expression.
func (c *call) value(t *testing.T, expression string) string {
	t.Helper()
	for _, v := range c.Values {
		if v.Expression == expression {
			return v.Text
		}
	}
	t.Fatalf("no value of %s in %+v", expression, c.Values)
	return ""
}

func (c *call) number(t *testing.T, expression string) int {
	t.Helper()
	number, err := strconv.Atoi(c.value(t, expression))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// count is how many calls lie below one by these methods, each inside the one before.
func (c *call) count(methods ...string) int {
	if len(methods) == 0 {
		return 1
	}
	sum := 0
	for i := range c.Children {
		if child := &c.Children[i]; child.Class+"."+child.Method == methods[0] {
			sum += child.count(methods[1:]...)
		}
	}
	return sum
}

// calls are all there are, each after its caller.
func (kept trace) calls() []*call {
	var all []*call
	var add func(c *call)
	add = func(c *call) {
		all = append(all, c)
		for i := range c.Children {
			c.Children[i].caller = c.Class + "." + c.Method
			add(&c.Children[i])
		}
	}
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		add(&tx.Root)
		for j := range tx.Parts {
			add(&tx.Parts[j])
		}
	}
	return all
}

func readTrace(t *testing.T, path string) trace {
	t.Helper()
	return readJSON[trace](t, path)
}

func readJSON[T any](t *testing.T, path string) (value T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}
