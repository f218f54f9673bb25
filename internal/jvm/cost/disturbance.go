package cost

import "fmt"

// A Disturbance is what measuring has done to the speed of a program, as far as that can be
// determined without asking the program. What is not known is nil.
type Disturbance struct {
	// Speed is that of the program while it was measured, relative to before. By samples, it is without the time that
	// hooks took, and without the time in slow code (in the interpreter, or of the first compiler) by
	// which it exceeded the time before. Slow code does some work, so the speed may have been higher. By calls, it is how many
	// calls of the root the program made for its processor time, relative to the time when only the root had a hook.
	Speed   *Estimate `json:"speed,omitempty"`
	SpeedBy string    `json:"speedBy,omitempty"`
	// Compared is the speed by calls, also if it is too uncertain to be that of the result. It can be above 1.
	Compared *Estimate `json:"compared,omitempty"`
	// Hooks is the part of the program's processor time that hooks took: the number of their calls
	// times what one of them costs, or more if samples show that.
	Hooks *Estimate `json:"hooks,omitempty"`
	// Subtracted is the least part that calls tell, which profiles and traces subtract from times.
	Subtracted float64 `json:"subtracted,omitempty"`
	// GoingIn and ComingOut are seconds of work that were lost because HotSpot compiled discarded code
	// again: from the first change of a class until results began, and after the hooks were removed.
	GoingIn   *Loss `json:"goingIn,omitempty"`
	ComingOut *Loss `json:"comingOut,omitempty"`
	// Unknown says why the speed is not known.
	Unknown string `json:"unknown,omitempty"`
}

// An Estimate is a value with its 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Times returns a part of an estimate; nil of nil.
func (e *Estimate) Times(part float64) *Estimate {
	if e == nil {
		return nil
	}
	return &Estimate{part * e.Value, part * e.Low, part * e.High}
}

// A Loss is lost work in seconds.
type Loss struct {
	Estimate
	By string `json:"by"`
}

// How a loss is determined.
const (
	// ByCalls: fewer calls of the hooked methods than later, in the same time.
	ByCalls = "calls"
	// BySamples: the time in slow code by which it exceeded the time before. This is an upper bound.
	BySamples = "samples"
)

func (d *Disturbance) String() string {
	if d == nil {
		return ""
	}
	text := "disturbance: "
	if d.Speed == nil {
		text += "speed while measured unknown (" + d.Unknown + ")"
	} else {
		text += fmt.Sprintf("while measured, the program had %s %% of its former speed (%s to %s %%)", percent(d.Speed.Value), percent(d.Speed.Low), percent(d.Speed.High))
	}
	if lower := d.Lower(); lower > 0.01 {
		text += fmt.Sprintf("; without hooks, times may be up to %s %% lower", percent(lower))
	}
	return text + "; work lost going in: " + d.GoingIn.String() + ", coming out: " + d.ComingOut.String()
}

// Disturbed says that times are of a program that hooks have probably made slower; "" if they have not, or
// if that is not known.
func (d *Disturbance) Disturbed() string {
	if d == nil || d.Speed == nil || d.Speed.Value >= undisturbed {
		return ""
	}
	if d.SpeedBy == ByCalls {
		return d.slowedBy("hooks take time, and HotSpot compiles methods with hooks less well: use fewer hooks")
	}
	return fmt.Sprintf("DISTURBED: these times are of a program that had about %s %% of its former speed (%s to %s %%): hooks took about %s %% of its time; use fewer of them, or time fewer calls",
		percent(d.Speed.Value), percent(d.Speed.Low), percent(d.Speed.High), percent(d.Hooks.Value))
}

// undisturbed is the lowest relative speed at which times count as times of the program without hooks, and mostHooks
// the speed below which hooks took most of the time.
const (
	undisturbed = 0.95
	mostHooks   = 0.5
)

// slowedBy says that the program was slower, and why.
func (d *Disturbance) slowedBy(why string) string {
	return fmt.Sprintf("DISTURBED: these times are of a program that had about %s %% of its former speed (%s to %s %%), because %s",
		percent(d.Speed.Value), percent(d.Speed.Low), percent(d.Speed.High), why)
}

// Lower is by which part times may be too high at most, although the cost of hooks is subtracted from them, because HotSpot compiles
// methods with hooks less well. It is 0 if it is not known.
func (d *Disturbance) Lower() float64 {
	if d == nil || d.Compared == nil || d.Hooks == nil {
		return 0
	}
	return max(0, 1-d.Compared.Low/(1-min(d.Subtracted, mostHooks)))
}

// Slowed says that times, although the cost of hooks is subtracted from them, are of a program that hooks have made slower
// otherwise; "" if they are not, or if that is not known.
func (d *Disturbance) Slowed() string {
	if d == nil || d.Speed == nil || d.Hooks == nil || d.Speed.Value >= undisturbed*(1-min(d.Subtracted, mostHooks)) {
		return ""
	}
	switch {
	case d.SpeedBy == ByCalls:
		return d.slowedBy("HotSpot compiles methods with hooks less well, or the load of the machine has changed: use fewer hooks, or measure again")
	case d.Hooks.Value-d.Subtracted >= 1-undisturbed:
		return d.slowedBy(fmt.Sprintf("hooks took about %s %% of its time, more than the %s %% that are subtracted: use fewer hooks", percent(d.Hooks.Value), percent(d.Subtracted)))
	}
	return d.slowedBy("a part of its code was not yet compiled again: measure longer")
}

// MostlyHooks says that times, although the cost of hooks is subtracted from them, are small
// differences of large numbers; "" if they are not, or if that is not known.
func (d *Disturbance) MostlyHooks() string {
	if d == nil || d.Speed == nil || d.Speed.Value >= mostHooks {
		return ""
	}
	return fmt.Sprintf("DISTURBED: hooks took about %s %% of the program's time; their cost is subtracted, but little remains, so times are rough: --timing auto or --timing stacks is more accurate",
		percent(d.Hooks.Value))
}

func percent(part float64) string { return fmt.Sprintf("%.3g", 100*part) }

func (l *Loss) String() string {
	switch {
	case l == nil:
		return "unknown"
	case l.High < least:
		return "less than 0.1 s"
	case l.By == BySamples || l.Low <= 0:
		return fmt.Sprintf("at most %.1f s", l.High)
	}
	return fmt.Sprintf("%.1f s (%.1f to %.1f s)", l.Value, l.Low, l.High)
}

// least is the loss in seconds below which none is worth a number.
const least = 0.1
