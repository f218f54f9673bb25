package report

import (
	"io"

	"github.com/sonde-jvm/sonde/internal/report/page"
)

// Samples are stacks that were sampled, and SampleNode one of their tree.
type (
	Samples    = page.Samples
	SampleNode = page.SampleNode
)

// WriteSamplesFile writes a flame graph of samples to a file, as WriteFile does.
func WriteSamplesFile(path string, s *Samples) error {
	return writeFile(path, func(w io.Writer) error { return page.WriteSamples(w, s) })
}
