package report

import (
	"io"

	"github.com/sonde-jvm/sonde/internal/report/page"
)

// Samples are stacks that were sampled.
type Samples = page.Samples

// A SampleNode is one of the tree of such stacks.
type SampleNode = page.SampleNode

// WriteSamplesFile writes a flame graph of samples to a file, as WriteFile does.
func WriteSamplesFile(path string, s *Samples) error {
	return writeFile(path, func(w io.Writer) error { return page.WriteSamples(w, s) })
}
