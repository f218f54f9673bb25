package classfile

// LineNumberTable says which source line the instructions from an offset on
// come from. Several tables of one body add up.
type LineNumberTable []LineNumber

// LineNumber is one row of a LineNumberTable.
type LineNumber struct {
	Start uint16 // offset into the code
	Line  uint16
}

// LocalVariableTable names local variables and their types.
type LocalVariableTable []LocalVariable

// LocalVariableTypeTable gives the generic signatures of those that have one.
type LocalVariableTypeTable []LocalVariable

// LocalVariable is one row of a LocalVariableTable or LocalVariableTypeTable.
//
//	u2 start, length, name, type, slot;
type LocalVariable struct {
	Start, Length uint16 // offsets into the code where the variable has a value
	Name          uint16 // Utf8 entry
	Type          uint16 // Utf8 entry: descriptor, or signature in a LocalVariableTypeTable
	Slot          uint16
}

func (in *decoder) lineNumberTable() LineNumberTable {
	table := make(LineNumberTable, in.count(4, "lines"))
	for i := range table {
		table[i] = LineNumber{in.u2(), in.u2()}
	}
	return table
}

func (in *decoder) localVariables() []LocalVariable {
	table := make([]LocalVariable, in.count(10, "variables"))
	for i := range table {
		table[i] = LocalVariable{in.u2(), in.u2(), in.ref(utf8Entry), in.ref(utf8Entry), in.u2()}
	}
	return table
}

// AppendTo implements [Contents].
func (table LineNumberTable) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "LineNumberTable"}
	out.count(len(table), "lines")
	for _, row := range table {
		out.u2(row.Start, row.Line)
	}
	return out.finish()
}

// AppendTo implements [Contents].
func (table LocalVariableTable) AppendTo(dst []byte) ([]byte, error) {
	return appendLocalVariables(dst, "LocalVariableTable", table)
}

// AppendTo implements [Contents].
func (table LocalVariableTypeTable) AppendTo(dst []byte) ([]byte, error) {
	return appendLocalVariables(dst, "LocalVariableTypeTable", table)
}

func appendLocalVariables(dst []byte, structure string, table []LocalVariable) ([]byte, error) {
	out := &encoder{dst: dst, structure: structure}
	out.count(len(table), "variables")
	for _, v := range table {
		out.u2(v.Start, v.Length, v.Name, v.Type, v.Slot)
	}
	return out.finish()
}
