package drill

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// An Observation is a call of the root with the values that were read at its entry. Values that could not be read
// are missing.
type Observation struct {
	Slow   bool
	Values map[string]string
}

// A Term is a condition on one value.
type Term struct {
	Name  string `json:"name"`
	Op    string `json:"op"` // = > or <=
	Value string `json:"value"`
}

func (t Term) String() string {
	if t.Op == equals {
		return t.Name + "=" + t.Value
	}
	return t.Name + " " + t.Op + " " + t.Value
}

const (
	equals  = "="
	above   = ">"
	notOver = "<="
)

// A Rule separates slow calls from normal ones: all its terms hold for most slow calls and for few normal ones.
type Rule struct {
	Terms      []Term `json:"terms"`
	SlowCalls  int    `json:"slowCalls"` // for which it holds
	Slow       int    `json:"slow"`      // all
	NormalOnes int    `json:"normalCalls"`
	Normal     int    `json:"normal"`
}

func (r *Rule) String() string { return fmt.Sprintf("slow when %s (%s)", r.Condition(), r.Support()) }

// Condition returns the terms.
func (r *Rule) Condition() string {
	texts := make([]string, len(r.Terms))
	for i, t := range r.Terms {
		texts[i] = t.String()
	}
	return strings.Join(texts, " and ")
}

// Support says for how many calls the terms hold.
func (r *Rule) Support() string {
	return fmt.Sprintf("%d of %d slow calls, %d of %d normal ones", r.SlowCalls, r.Slow, r.NormalOnes, r.Normal)
}

// gain returns by how much more often the rule holds for slow calls than for normal ones.
func (r *Rule) gain() float64 {
	if r == nil {
		return 0
	}
	return float64(r.SlowCalls)/float64(r.Slow) - float64(r.NormalOnes)/float64(r.Normal)
}

// Better returns the rule that separates better; the first one if the other is not much better.
func Better(first, other *Rule) *Rule {
	if other.gain() > first.gain()+pairGain {
		return other
	}
	return first
}

// Limits of rules.
const (
	// leastSupport is for how many slow calls a rule must hold, and leastRecall for which part of them.
	leastSupport = 3
	leastRecall  = 0.6
	// leastGain is by how much more often it must hold for slow calls than for normal ones, and pairGain what
	// a second term must add to that.
	leastGain = 0.5
	pairGain  = 0.05
	// mostChance bounds the probability that a rule among all that were tried is one by chance.
	mostChance = 0.01
	// mostValues is how many values of one name are tried, mostSplits how many thresholds of a number.
	mostValues = 20
	mostSplits = 32
	// fewNumbers is how many different numbers are tried as values, not as thresholds.
	fewNumbers = 5
	// mostShown is the length to which a value is cut.
	mostShown = 60
)

// Separate returns the rule that separates slow calls best from normal ones; nil if no rule does so well enough.
func Separate(all []Observation) *Rule {
	s := &separator{all: all}
	for _, o := range all {
		if o.Slow {
			s.slow++
		} else {
			s.normal++
		}
	}
	if s.slow < leastSupport || s.normal < leastSupport {
		return nil
	}
	candidates := s.candidates()
	var best *candidate
	for i := range candidates {
		if c := &candidates[i]; s.isValid(c, s.tried) && (best == nil || c.gain > best.gain) {
			best = c
		}
	}
	single := best
	for i := range candidates {
		for j := range i {
			if candidates[i].terms[0].Name == candidates[j].terms[0].Name {
				continue
			}
			both := s.both(&candidates[j], &candidates[i])
			if s.isValid(both, s.tried*s.tried) && (best == nil || both.gain > best.gain) && (single == nil || both.gain >= single.gain+pairGain) {
				best = both
			}
		}
	}
	if best == nil {
		return nil
	}
	r := &Rule{SlowCalls: best.slow, Slow: s.slow, NormalOnes: best.normal, Normal: s.normal}
	for _, t := range best.terms {
		if runes := []rune(t.Value); len(runes) > mostShown {
			t.Value = string(runes[:mostShown]) + "…"
		}
		r.Terms = append(r.Terms, t)
	}
	return r
}

// A separator looks for a rule.
type separator struct {
	all          []Observation
	slow, normal int
	tried        int // terms
}

// A candidate is a rule with the calls for which it holds.
type candidate struct {
	terms        []Term
	holds        []uint64 // a bit for each observation
	slow, normal int      // for which it holds
	gain         float64
}

// isValid reports whether a rule is good enough, and not one by chance among all that were tried.
func (s *separator) isValid(c *candidate, tried int) bool {
	return c.slow >= leastSupport && float64(c.slow) >= leastRecall*float64(s.slow) && c.gain >= leastGain && s.chance(c)*float64(tried) < mostChance
}

// chance bounds the probability that the rule holds for as many slow calls if it does not depend on that
// whether a call is slow: Chernoff's bound.
func (s *separator) chance(c *candidate) float64 {
	rate := float64(c.slow+c.normal) / float64(s.slow+s.normal)
	recall := float64(c.slow) / float64(s.slow)
	if rate >= recall || rate <= 0 {
		return 1
	}
	divergence := recall * math.Log(recall/rate)
	if recall < 1 {
		divergence += (1 - recall) * math.Log((1-recall)/(1-rate))
	}
	return math.Exp(-float64(s.slow) * divergence)
}

func (s *separator) count(c *candidate) *candidate {
	for i := range s.all {
		if c.holds[i/64]>>(i%64)&1 == 0 {
			continue
		}
		if s.all[i].Slow {
			c.slow++
		} else {
			c.normal++
		}
	}
	c.gain = float64(c.slow)/float64(s.slow) - float64(c.normal)/float64(s.normal)
	return c
}

func (s *separator) where(t Term, holds func(value string) bool) *candidate {
	s.tried++
	c := &candidate{terms: []Term{t}, holds: make([]uint64, (len(s.all)+63)/64)}
	for i := range s.all {
		if value, is := s.all[i].Values[t.Name]; is && holds(value) {
			c.holds[i/64] |= 1 << (i % 64)
		}
	}
	return s.count(c)
}

func (s *separator) both(a, b *candidate) *candidate {
	c := &candidate{terms: []Term{a.terms[0], b.terms[0]}, holds: slices.Clone(a.holds)}
	ones := 0
	for i := range c.holds {
		c.holds[i] &= b.holds[i]
		ones += bits.OnesCount64(c.holds[i])
	}
	if ones < leastSupport {
		return c
	}
	return s.count(c)
}

// candidates returns rules of one term, in a fixed order.
func (s *separator) candidates() (found []candidate) {
	names := make(map[string]bool)
	for _, o := range s.all {
		for name := range o.Values {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		inSlow, values := make(map[string]int), make(map[string]bool)
		for _, o := range s.all {
			if value, is := o.Values[name]; is {
				values[value] = true
				if o.Slow {
					inSlow[value]++
				}
			}
		}
		if numbers, is := asNumbers(values); is {
			found = append(found, s.thresholds(name, numbers)...)
			continue
		}
		common := slices.SortedFunc(maps.Keys(inSlow), func(a, b string) int {
			return cmp.Or(cmp.Compare(inSlow[b], inSlow[a]), strings.Compare(a, b))
		})
		for _, value := range common[:min(len(common), mostValues)] {
			if inSlow[value] >= leastSupport && len(values) > 1 {
				found = append(found, *s.where(Term{name, equals, value}, func(v string) bool { return v == value }))
			}
		}
	}
	return found
}

// asNumbers returns different values as sorted numbers, if they are numbers and more than a few.
func asNumbers(values map[string]bool) (numbers []float64, is bool) {
	if len(values) <= fewNumbers {
		return nil, false
	}
	for value := range values {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, true
}

// thresholds returns the best threshold in each direction.
func (s *separator) thresholds(name string, numbers []float64) (best []candidate) {
	step := max(1, len(numbers)/mostSplits)
	for _, op := range []string{above, notOver} {
		var found *candidate
		var place int
		try := func(i int) {
			at := numbers[i]
			c := s.where(Term{name, op, strconv.FormatFloat(at, 'f', -1, 64)}, func(value string) bool {
				n, err := strconv.ParseFloat(value, 64)
				return err == nil && (n > at) == (op == above)
			})
			if found == nil || c.gain > found.gain {
				found, place = c, i
			}
		}
		for i := step - 1; i < len(numbers)-1; i += step {
			try(i)
		}
		tried := s.tried
		for i, end := max(0, place-step), min(len(numbers)-1, place+step); i < end; i++ {
			try(i)
		}
		s.tried = tried // the neighbours of a threshold are no other rules
		if found.slow >= leastSupport {
			best = append(best, *found)
		}
	}
	return best
}

// Data keeps as many observations as are needed for certain rules.
type Data struct {
	all          []Observation
	slow, normal int
}

// mostObserved bounds the observations of each kind.
const mostObserved = 2000

// Add adds an observation. Those that come when there are enough of its kind are dropped.
func (d *Data) Add(o Observation) {
	count := &d.normal
	if o.Slow {
		count = &d.slow
	}
	if *count < mostObserved && len(o.Values) > 0 {
		*count++
		d.all = append(d.all, o)
	}
}

// Rule returns what slow calls have in common; nil if that is nothing.
func (d *Data) Rule() *Rule { return Separate(d.all) }
