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

// kernelNames are the functions of the kernel, where this user may see their addresses. There are some hundred thousand: without
// pointers, they cost Sonde's garbage collector nothing.
type kernelNames struct {
	functions []kernelFunction // by address
	names     []byte
	methods   map[int]*jfr.Method // by function: most are never needed
	unknown   *jfr.Method
}

// A kernelFunction has its name in kernelNames.names.
type kernelFunction struct {
	address    uint64
	begin, end uint32
}

func readKernelNames() *kernelNames {
	k := &kernelNames{methods: make(map[int]*jfr.Method), unknown: &jfr.Method{Class: "kernel"}}
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
		begin := len(k.names)
		k.names = append(k.names, name...)
		k.functions = append(k.functions, kernelFunction{address, uint32(begin), uint32(len(k.names))})
	}
	k.functions, k.names = slices.Clip(k.functions), slices.Clip(k.names)
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
	if i := sort.Search(len(k.functions), func(i int) bool { return k.functions[i].address > address }) - 1; i >= 0 {
		method := k.methods[i]
		if method == nil {
			method = &jfr.Method{Class: "kernel", Name: string(k.names[k.functions[i].begin:k.functions[i].end])}
			k.methods[i] = method
		}
		frame.Method = method
	}
	return frame
}
