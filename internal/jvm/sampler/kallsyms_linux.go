package sampler

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"slices"
	"sort"
	"strconv"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// kernelNames are the functions of the kernel, where this user may see their addresses.
type kernelNames struct {
	functions []kernelFunction // by address
	unknown   *jfr.Method
}

type kernelFunction struct {
	address uint64
	name    string
	method  *jfr.Method // when it is first needed: most functions never are
}

func readKernelNames() *kernelNames {
	k := &kernelNames{unknown: &jfr.Method{Class: "kernel"}}
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return k
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		digits, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if !bytes.HasPrefix(rest, []byte("t ")) && !bytes.HasPrefix(rest, []byte("T ")) {
			continue
		}
		address, err := strconv.ParseUint(string(digits), 16, 64)
		if err != nil || address == 0 {
			return k // hidden from this user
		}
		name, _, _ := bytes.Cut(rest[2:], []byte("\t")) // its module follows
		k.functions = append(k.functions, kernelFunction{address: address, name: string(name)})
	}
	if byAddress := func(a, b kernelFunction) int { return cmp.Compare(a.address, b.address) }; !slices.IsSortedFunc(k.functions, byAddress) {
		slices.SortFunc(k.functions, byAddress)
	}
	return k
}

func (k *kernelNames) frame(address uint64) jfr.Frame {
	frame := jfr.Frame{BCI: -1, Kind: jfr.Kernel}
	if k == nil {
		return frame
	}
	frame.Method = k.unknown
	if i := sort.Search(len(k.functions), func(i int) bool { return k.functions[i].address > address }); i > 0 {
		function := &k.functions[i-1]
		if function.method == nil {
			function.method = &jfr.Method{Class: "kernel", Name: function.name}
		}
		frame.Method = function.method
	}
	return frame
}
