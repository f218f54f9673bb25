package rootcause

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A price estimates the work that a program loses when classes are redefined, because code that
// was discarded runs slowly until it is compiled again. The first estimate comes from what the
// compilers have done so far. What a batch has really cost corrects it.
type price struct {
	all         time.Duration // the loss if all hot code is discarded
	discardsAll bool          // the next redefinition does that, whatever it changes
	limit       time.Duration // how much more may be lost
}

// priceOf estimates the loss in a JVM that has no hooks yet.
func priceOf(jvm *process.JVM, options Options) price {
	meter := cost.Watch(jvm)
	defer meter.Close()
	now, _ := meter.Read() // in an empty reading the compilers' time is unknown
	return price{
		all: overhead.RecompileLoss(now.Compiled()), discardsAll: process.Local.DiscardsAll(jvm),
		limit: overhead.LossLimit(options.Budget, options.Duration),
	}
}

// of returns the loss if classes are redefined on which a part of the running code depends.
func (p price) of(heat float64) time.Duration {
	return overhead.RedefinitionLoss(p.discardsAll, heat, p.all)
}

// refusal returns why no class may be redefined; "" if some may.
func (p price) refusal() string {
	if p.of(0) <= p.limit {
		return ""
	}
	return fmt.Sprintf("the first change of a class makes this JVM discard all compiled code, about %s of work, and --budget allows %s; a JVM that is started with -javaagent (sonde agent-jar) does not do that",
		format.Duration(p.all), format.Duration(p.limit))
}

// leastHeat is the part of the running code that a batch must have discarded to show what
// discarding all of it would cost.
const leastHeat = 0.05

// pay takes in what a batch has cost, on whose classes a part of the running code depended.
func (p *price) pay(heat float64, spent time.Duration) {
	p.limit -= spent
	if p.discardsAll {
		p.discardsAll, heat = false, 1
	}
	if heat >= leastHeat {
		p.all = time.Duration(float64(spent) / heat)
	}
}
