package sampling

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestHiddenNames waits until the flight recorder and the kernel have the same names for several hidden classes.
func TestHiddenNames(t *testing.T) {
	classes := compile(t, "Known")
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xint", "-cp", classes, "Known", "lambda", "handle"}})
			names := func(samples []jfr.Sample) map[string]bool {
				found := map[string]bool{}
				for _, s := range samples {
					for _, f := range s.Stack.Frames {
						if f.IsJava() && strings.Contains(f.Method.Class, "Lambda") && strings.Contains(f.Method.Class, "+0x") {
							found[f.Method.Class] = true
						}
					}
				}
				return found
			}
			const several = 4
			recorded := names(collect(t, p.PID, sampler.Options{Source: sampler.FlightRecorder}, func(samples []jfr.Sample, _ time.Duration) bool {
				return len(names(samples)) > several
			}))
			collect(t, p.PID, sampler.Options{Source: sampler.Kernel}, func(samples []jfr.Sample, _ time.Duration) bool {
				equal := 0
				for name := range names(samples) {
					if recorded[name] {
						equal++
					}
				}
				return equal >= several
			})
		})
	}
}
