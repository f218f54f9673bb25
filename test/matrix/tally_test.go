package matrix

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave"
)

// maxLeftAlone is the share of methods that may be left alone: 0.1 %.
const maxLeftAlone = 0.001

// A tally counts what became of classes and methods.
type tally struct {
	mu      sync.Mutex
	classes int
	methods int // with code
	woven   int
	left    map[string][]string // methods left alone, by the kind of reason
}

func newTally() *tally { return &tally{left: make(map[string][]string)} }

func (y *tally) add(class string, result *weave.Result) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.classes++
	y.methods += len(result.Methods)
	for _, method := range result.Methods {
		if method.Woven {
			y.woven++
			continue
		}
		kind := "no reason given"
		var reason *weave.Reason
		if errors.As(method.Reason, &reason) {
			kind = string(reason.Kind)
		} else if method.Reason != nil {
			kind = method.Reason.Error()
		}
		y.left[kind] = append(y.left[kind], fmt.Sprintf("%s.%s%s: %v", class, method.Name, method.Descriptor, method.Reason))
	}
}

// report logs the totals, names what was left alone, and fails the test where
// that is too much.
func (y *tally) report(t *testing.T) {
	t.Helper()
	alone := y.methods - y.woven
	share := float64(alone) / float64(max(1, y.methods))
	t.Logf("%d classes, %d methods with code, %d woven, %d left alone (%.4f %%)", y.classes, y.methods, y.woven, alone, 100*share)
	for _, kind := range slices.Sorted(maps.Keys(y.left)) {
		const shown = 10
		examples := slices.Sorted(slices.Values(y.left[kind]))
		t.Logf("left alone: %s: %d\n    %s", kind, len(examples), strings.Join(examples[:min(shown, len(examples))], "\n    "))
	}
	if y.methods == 0 || share >= maxLeftAlone {
		t.Errorf("%d of %d methods were left alone, want less than %.1f %%", alone, y.methods, 100*maxLeftAlone)
	}
}
