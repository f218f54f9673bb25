package cost

// warmRate is at how many calls a second of a method half of what is cold is warm.
const warmRate = 100_000

// Cold is the part that is left, of what a call of a hook costs beside what it costs in a
// loop, at a rate of calls a second. Where other work comes between two calls of a method
// processors have forgotten the hook by then, and what it writes to.
func Cold(rate float64) float64 { return 1 / (1 + rate/warmRate) }
