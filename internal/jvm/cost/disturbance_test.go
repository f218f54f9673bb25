package cost

import (
	"math"
	"strings"
	"testing"
)

func TestDisturbed(t *testing.T) {
	speed := func(value, low, high float64) *Disturbance {
		return &Disturbance{Speed: &Estimate{Value: value, Low: low, High: high}, Hooks: &Estimate{Value: 1 - value, Low: 1 - high, High: 1 - low}}
	}
	for _, test := range []struct {
		name              string
		disturbance       *Disturbance
		disturbed, mostly bool
	}{
		{"none", nil, false, false},
		{"unknown", &Disturbance{Unknown: "too few samples of it"}, false, false},
		{"as before", speed(0.99, 0.95, 1), false, false},
		{"perhaps as before", speed(0.8, 0.5, 0.97), true, false},
		{"slower", speed(0.8, 0.7, 0.9), true, false},
		{"perhaps half", speed(0.4, 0.2, 0.6), true, true},
		{"mostly hooks", speed(0.01, 0, 0.16), true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.disturbance.Disturbed(); strings.HasPrefix(got, "DISTURBED") != test.disturbed {
				t.Errorf("Disturbed: want %t, got %q", test.disturbed, got)
			}
			if got := test.disturbance.MostlyHooks(); strings.HasPrefix(got, "DISTURBED") != test.mostly {
				t.Errorf("MostlyHooks: want %t, got %q", test.mostly, got)
			}
		})
	}
}

func TestTimesMayBeLower(t *testing.T) {
	speed, hooks := &Estimate{0.95, 0.9, 1}, &Estimate{0.01, 0, 0.02}
	for _, test := range []struct {
		disturbance *Disturbance
		want        float64
	}{
		{&Disturbance{Speed: speed, Compared: speed, SpeedBy: ByCalls, Hooks: hooks, Subtracted: 0.01}, 1 - 0.9/0.99},
		{&Disturbance{Speed: &Estimate{1, 1, 1}, Compared: speed, SpeedBy: BySamples, Hooks: hooks, Subtracted: 0.01}, 1 - 0.9/0.99},
		{&Disturbance{Speed: speed, SpeedBy: BySamples, Hooks: hooks}, 0},
		{&Disturbance{Speed: speed, Compared: speed, SpeedBy: ByCalls}, 0},
		{nil, 0},
	} {
		if got := test.disturbance.Lower(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%v: times may be lower by %g, want %g", test.disturbance, got, test.want)
		}
	}
}

func TestSlowed(t *testing.T) {
	by := func(how string, speed, hooks, subtracted float64) *Disturbance {
		return &Disturbance{Speed: &Estimate{speed, speed - 0.1, speed + 0.1}, SpeedBy: how, Hooks: &Estimate{hooks, 0, 2 * hooks}, Subtracted: subtracted}
	}
	for _, test := range []struct {
		disturbance *Disturbance
		want        string // how the text ends
	}{
		{by(ByCalls, 0.85, 0.01, 0.01), "HotSpot compiles methods with hooks less well, or the load of the machine has changed: use fewer hooks, or measure again"},
		{by(BySamples, 0.85, 0.01, 0.01), "measure longer"},
		{by(ByCalls, 0.85, 0.15, 0.15), ""}, // hooks took what is missing, and it is subtracted
		{by(BySamples, 0.85, 0.15, 0.15), ""},
		{by(BySamples, 0.85, 0.15, 0.01), "hooks took about 15 % of its time, more than the 1 % that are subtracted: use fewer hooks"},
		{&Disturbance{Unknown: "too few samples of it"}, ""},
		{nil, ""},
	} {
		if got := test.disturbance.Slowed(); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%v: %q, want it to end with %q", test.disturbance, got, test.want)
		}
	}
}
