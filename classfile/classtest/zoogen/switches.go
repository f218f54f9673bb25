package main

import (
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/classfile/classtest"
)

// switches: every padding, no keys, the outermost keys, and padding that is not
// zero (allowed since Java 7).
func switches() []specimen {
	b := classtest.NewBuilder(49, "SwitchShapes")
	for padding := range 4 {
		table := classtest.NewAssembler().Fill(padding, "nop").Op("iload_0").
			Table(-1, "other", "one", "other", "one").
			Label("one").Ops("iconst_1", "ireturn").Label("other").Ops("iconst_0", "ireturn")
		b.AddMethod(publicStatic, fmt.Sprint("table", padding), "(I)I", table.Code(b, 1, 1))
		lookup := classtest.NewAssembler().Fill(padding, "nop").Op("iload_0").
			Lookup("other", []int32{math.MinInt32, 0, math.MaxInt32}, "one", "other", "one").
			Label("one").Ops("iconst_1", "ireturn").Label("other").Ops("iconst_0", "ireturn")
		b.AddMethod(publicStatic, fmt.Sprint("lookup", padding), "(I)I", lookup.Code(b, 1, 1))
	}
	empty := classtest.NewAssembler().Op("iload_0").Lookup("other", nil).Label("other").Op("return")
	b.AddMethod(publicStatic, "noKeys", "(I)V", empty.Code(b, 1, 1))
	top := classtest.NewAssembler().Op("iload_0").Table(math.MaxInt32-1, "other", "other", "other").Label("other").Op("return")
	b.AddMethod(publicStatic, "highest", "(I)V", top.Code(b, 1, 1))
	bottom := classtest.NewAssembler().Op("iload_0").Table(math.MinInt32, "other", "other", "other").Label("other").Op("return")
	b.AddMethod(publicStatic, "lowest", "(I)V", bottom.Code(b, 1, 1))
	back := classtest.NewAssembler().Label("start").Op("iload_0").Table(0, "start", "start").Op("return")
	b.AddMethod(publicStatic, "backwards", "(I)V", back.Code(b, 1, 1))

	odd := classtest.NewBuilder(51, "OddPadding")
	frame := odd.Attribute("StackMapTable", classtest.Counted([]byte{20}))
	code := classtest.Cat(uint8(0x1a), uint8(0xaa), uint8(0xde), uint8(0xad), // iload_0, tableswitch, padding
		int32(19), int32(0), int32(0), int32(19), uint8(0xb1)) // default, low, high, target; return
	odd.AddMethod(publicStatic, "padded", "(I)V",
		odd.Attribute("Code", uint16(1), uint16(1), uint32(len(code)), code, uint16(0), classtest.Counted(frame)))
	return []specimen{made("SwitchShapes", b), made("OddPadding", odd)}
}
