package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func startContexts(t *testing.T, jdk jvmtest.JDK) *monitoredProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/contexts/Contexts.java"}})
	return &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-cp", classes, "contexts.Contexts"}})}
}

const (
	contextsPay   = "contexts.Contexts$Pay.charge"
	contextsWeb   = "contexts.Contexts$Web.handle"
	contextsOrder = "contexts.Contexts$Order.place"
)

// told are a count's calls by what tells them apart.
func (d *countJSON) told() map[string]uint64 {
	calls := make(map[string]uint64)
	for _, m := range d.Methods {
		words := []string{m.Within}
		for _, name := range slices.Sorted(maps.Keys(m.Tags)) {
			value := "null"
			if m.Tags[name] != nil {
				value = *m.Tags[name]
			}
			words = append(words, name+"="+value)
		}
		words = append(words, m.Callers...)
		if m.Calls > 0 {
			calls[strings.Join(words, " ")] += m.Calls
		}
	}
	return calls
}

// TestContextsLive counts calls where and when it matters, and compares with what the
// program did: of each round and customer it charges twice below Order.place, once
// directly, by the web and by a job, and once in another thread.
func TestContextsLive(t *testing.T) {
	const rounds = 40
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startContexts(t, jdk)
			p.do("3", "done 3")
			for _, test := range []struct {
				flags []string
				want  map[string]uint64
			}{
				{
					[]string{"--within", contextsWeb, "--within", contextsOrder + " >", "--tag", "tier=$1.tier at " + contextsWeb, "--by-tag", "tier"},
					map[string]uint64{
						contextsWeb + " tier=gold": 3 * rounds, contextsWeb + " tier=silver": 3 * rounds, contextsWeb + " tier=null": 3 * rounds,
						contextsOrder + " > tier=gold": rounds, contextsOrder + " > tier=silver": rounds, contextsOrder + " > tier=null": rounds,
						contextsOrder + " >": 3 * rounds,
					},
				},
				{
					[]string{"--when", `$1.getTier() == "gold" && $2 >= 10 && $return == true`, "--timing", "none"},
					map[string]uint64{"": 5 * (rounds - 10) / 2},
				},
				{
					[]string{"--when", `tx.tier in ("gold", "silver")`, "--tag", "tier=$1.tier at " + contextsWeb, "--hand-off=false"},
					map[string]uint64{"": 2 * 2 * rounds},
				},
				{
					[]string{"--context", "1", "--within", contextsOrder, "--hand-off=false"},
					map[string]uint64{
						contextsOrder + " " + contextsOrder + "(Lcontexts.Contexts$Customer;I)V":         2 * 3 * rounds,
						contextsOrder + " contexts.Contexts$Order.audit(Lcontexts.Contexts$Customer;I)V": 2 * 3 * rounds,
					},
				},
			} {
				c := startSonde(t, append(countArgs(p.PID, contextsPay, "--json"), test.flags...)...)
				p.do(strconv.Itoa(rounds), fmt.Sprintf("done %d", rounds))
				c.signal(t, syscall.SIGINT)
				if code := c.end(t); code != exitOK {
					t.Fatalf("exit code %d: %s", code, c.stderr.String())
				}
				got := c.result(t)
				if !maps.Equal(got.told(), test.want) || got.Dropped != 0 || got.Leaving == nil {
					t.Errorf("%q: %v, want %v\n%s", test.flags, got.told(), test.want, c.stderr.String())
				}
			}
			if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "nothing of Sonde's") {
				t.Errorf("%s", out)
			}
		})
	}
}
