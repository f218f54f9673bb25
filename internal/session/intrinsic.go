package session

import "github.com/sonde-jvm/sonde/classfile"

// WhyLowerBound says why the calls counted of a method are a lower bound.
const WhyLowerBound = "HotSpot may replace this method by an intrinsic in compiled code, so that calls made from compiled code are not counted"

// intrinsicCandidates mark the methods of a JDK that HotSpot may replace: from 16 on, and
// before.
var intrinsicCandidates = [...]string{"Ljdk/internal/vm/annotation/IntrinsicCandidate;", "Ljdk/internal/HotSpotIntrinsicCandidate;"}

// mayBeIntrinsic reports whether compilers of HotSpot may put code of their own in the place
// of calls of a method. A hook in its body does not see those calls.
func mayBeIntrinsic(class *classfile.Class, m *classfile.Member) bool {
	attribute := class.Find(m.Attributes, classfile.KindRuntimeVisibleAnnotations)
	if attribute == nil {
		return false
	}
	contents, err := class.Decode(*attribute)
	list, is := contents.(classfile.Annotations)
	if err != nil || !is {
		return false
	}
	for _, annotation := range list {
		name, err := class.Pool.Utf8(annotation.Type)
		for _, candidate := range intrinsicCandidates {
			if err == nil && string(name) == candidate {
				return true
			}
		}
	}
	return false
}
