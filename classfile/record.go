package classfile

// Record gives the components of a record class.
type Record []RecordComponent

// RecordComponent is one of them.
//
//	u2 name, descriptor; u2 n; attribute attributes[n];
type RecordComponent struct {
	Name       uint16 // Utf8 entry
	Descriptor uint16 // Utf8 entry
	Attributes []Attribute
}

func (in *decoder) record() Record {
	list := make(Record, in.count(6, "components"))
	for i := range list {
		list[i] = RecordComponent{in.ref(utf8Entry), in.ref(utf8Entry), in.attributes()}
	}
	return list
}

// AppendTo implements [Contents].
func (list Record) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "Record"}
	out.count(len(list), "components")
	for i := range list {
		out.u2(list[i].Name, list[i].Descriptor)
		out.attributes(list[i].Attributes)
	}
	return out.finish()
}
