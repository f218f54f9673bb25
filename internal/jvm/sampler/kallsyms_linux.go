package sampler

import (
	"bufio"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// kernelNames are the functions of the kernel, where this user may see their addresses.
type kernelNames struct {
	functions []kernelFunction // by address
	unknown   *jfr.Method
}

type kernelFunction struct {
	address uint64
	method  *jfr.Method
}

func readKernelNames() *kernelNames {
	k := &kernelNames{unknown: &jfr.Method{Class: "kernel"}}
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return k
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[1] != "t" && fields[1] != "T" {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil || address == 0 {
			return k // hidden from this user
		}
		k.functions = append(k.functions, kernelFunction{address: address, method: &jfr.Method{Class: "kernel", Name: fields[2]}})
	}
	sort.Slice(k.functions, func(i, j int) bool { return k.functions[i].address < k.functions[j].address })
	return k
}

func (k *kernelNames) frame(address uint64) jfr.Frame {
	frame := jfr.Frame{BCI: -1, Kind: jfr.Kernel}
	if k == nil {
		return frame
	}
	frame.Method = k.unknown
	if i := sort.Search(len(k.functions), func(i int) bool { return k.functions[i].address > address }); i > 0 {
		frame.Method = k.functions[i-1].method
	}
	return frame
}
