package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A restricted flag says which values it takes, for the error about another one.
type restricted interface{ wanted() string }

// errValue refuses the value of a flag. flagError says what the value must be.
var errValue = errors.New("invalid value")

// A choiceValue is a flag that takes one of a few words.
type choiceValue[S ~string] struct {
	value *S
	words []string
}

func oneOf[S ~string](p *S, value S, words ...string) *choiceValue[S] {
	*p = value
	return &choiceValue[S]{p, words}
}

func (v *choiceValue[S]) String() string { return string(*v.value) }
func (v *choiceValue[S]) Type() string   { return "string" }
func (v *choiceValue[S]) wanted() string {
	last := len(v.words) - 1
	return strings.Join(v.words[:last], ", ") + " or " + v.words[last]
}

func (v *choiceValue[S]) Set(text string) error {
	if !slices.Contains(v.words, text) {
		return errValue
	}
	*v.value = S(text)
	return nil
}

// A numberValue is a flag that takes a whole number from least to most.
type numberValue[N int | uint32] struct {
	value       *N
	least, most N // most is 0 for no limit
}

func number[N int | uint32](p *N, value, least, most N) *numberValue[N] {
	*p = value
	return &numberValue[N]{p, least, most}
}

func (v *numberValue[N]) String() string { return fmt.Sprint(*v.value) }
func (v *numberValue[N]) Type() string   { return fmt.Sprintf("%T", *v.value) }
func (v *numberValue[N]) wanted() string {
	if v.most == 0 {
		return fmt.Sprintf("a whole number, at least %d", v.least)
	}
	return fmt.Sprintf("a whole number from %d to %d", v.least, v.most)
}

func (v *numberValue[N]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	most := int64(v.most)
	if most == 0 {
		most = math.MaxInt32
	}
	if err != nil || n < int64(v.least) || n > most {
		return errValue
	}
	*v.value = N(n)
	return nil
}

// A timeValue is a flag that takes a duration from least to most.
type timeValue struct {
	value       *time.Duration
	least, most time.Duration // most is 0 for no limit
}

// positive is the least duration of flags that must not be 0.
const positive = time.Nanosecond

func span(p *time.Duration, value, least, most time.Duration) *timeValue {
	*p = value
	return &timeValue{p, least, most}
}

func (v *timeValue) String() string {
	if *v.value == 0 {
		return "0"
	}
	return v.value.String()
}
func (v *timeValue) Type() string { return "duration" }
func (v *timeValue) wanted() string {
	text := "a time with its unit, such as 30s, 500ms or 2m"
	switch {
	case v.least == positive:
		text += ", more than 0"
	case v.least > 0:
		text += fmt.Sprintf(", at least %v", v.least)
	}
	if v.most > 0 {
		text += fmt.Sprintf(", at most %v", v.most)
	}
	return text
}

func (v *timeValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < v.least || v.most > 0 && d > v.most {
		return errValue
	}
	*v.value = d
	return nil
}

// A part is a flag for a part of a whole: 2% or 0.02.
type part float64

func (p *part) Type() string   { return "part" }
func (p *part) wanted() string { return "a part of the program's time, such as 2% or 0.02" }

func (p *part) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', 6, 64) + "%" }

// Set reads a part, which is more than 0 and at most 1.
func (p *part) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value > 0 && value <= 1) {
		return errValue
	}
	*p = part(value)
	return nil
}

// A period is a flag for how long a method is measured: '1000 calls', 5s, or both,
// whichever comes first. A value replaces the default; a number of calls alone still has a
// limit in time, because calls may never come.
type period struct {
	calls uint64
	time  time.Duration
	given bool
}

// callsLimit is the limit in time of a number of calls.
const callsLimit = time.Minute

func (p *period) Type() string   { return "period" }
func (p *period) wanted() string { return "a number of calls or a time, such as '1000 calls' or 5s" }

func (p *period) String() string {
	var parts []string
	if p.calls > 0 && p.calls < math.MaxUint64 {
		parts = append(parts, strconv.FormatUint(p.calls, 10)+" calls")
	}
	if p.time > 0 {
		parts = append(parts, p.time.String())
	}
	return strings.Join(parts, ", ")
}

// Set reads one bound, or two with a comma or a bar between.
func (p *period) Set(text string) error {
	next := *p
	if !p.given {
		next = period{calls: math.MaxUint64, time: callsLimit, given: true}
	}
	bounds := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' })
	if len(bounds) == 0 {
		return errValue
	}
	for _, bound := range bounds {
		if err := next.bound(strings.TrimSpace(bound)); err != nil {
			return err
		}
	}
	*p = next
	return nil
}

func (p *period) bound(text string) error {
	digits, isCalls := strings.CutSuffix(text, "calls")
	if !isCalls {
		digits, isCalls = strings.CutSuffix(text, "call")
	}
	if isCalls {
		calls, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimSpace(digits), "_", ""), 10, 64)
		if err != nil || calls == 0 {
			return errValue
		}
		p.calls = calls
		return nil
	}
	lasting, err := time.ParseDuration(text)
	if err != nil || lasting <= 0 {
		return errValue
	}
	p.time = lasting
	return nil
}

// A lot is a flag for one in so many.
type lot uint32

func (l *lot) String() string { return "1/" + strconv.FormatUint(uint64(*l), 10) }
func (*lot) Type() string     { return "1/K" }
func (*lot) wanted() string   { return fmt.Sprintf("1/K with K from 1 to %d, such as 1/100", mostPeriod) }

// Set reads 1/K.
func (l *lot) Set(text string) error {
	of, isOne := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), "1/")
	n, err := strconv.ParseUint(of, 10, 32)
	if !isOne || err != nil || n < 1 || n > mostPeriod {
		return errValue
	}
	*l = lot(n)
	return nil
}
