package classfile_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// TestCorpusPassesCheck: what compilers wrote, and JVMs load, has no defect.
func TestCorpusPassesCheck(t *testing.T) {
	var lifter code.Lifter
	eachOfCorpus(t, func(name string, data []byte) {
		c, err := classfile.Parse(data)
		if err == nil {
			err = lifter.Check(c)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}
