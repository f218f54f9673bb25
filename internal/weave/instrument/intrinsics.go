package instrument

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// WhyLowerBound says why the number of calls of a method is a lower bound.
const WhyLowerBound = "HotSpot may replace this method by an intrinsic in compiled code, so that calls made from compiled code are not counted"

// intrinsicCandidates are the annotations of methods that HotSpot may replace: since JDK
// 16, and before. HotSpot replaces no method without one.
var intrinsicCandidates = [...]string{"Ljdk/internal/vm/annotation/IntrinsicCandidate;", "Ljdk/internal/HotSpotIntrinsicCandidate;"}

// isIntrinsic reports whether HotSpot's compilers may replace calls of a method by their
// own code. A hook in its body does not see those calls.
func isIntrinsic(class *classfile.Class, m *classfile.Member) bool {
	if class.Major <= lastWithoutAnnotations {
		name, descriptor, err := class.MemberName(m)
		return err == nil && slices.Contains(intrinsics8[class.Name()], string(name)+string(descriptor))
	}
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
		if err == nil && slices.Contains(intrinsicCandidates[:], string(name)) {
			return true
		}
	}
	return false
}

// lastWithoutAnnotations is the version of the class files of JDK 8.
const lastWithoutAnnotations = 52

// intrinsics8 are the methods with code that JDK 8 may replace, by class, as in vmSymbols.hpp of
// HotSpot 8u.
var intrinsics8 = map[string][]string{
	"com/sun/crypto/provider/AESCrypt":            {"implDecryptBlock([BI[BI)V", "implEncryptBlock([BI[BI)V"},
	"com/sun/crypto/provider/CipherBlockChaining": {"implDecrypt([BII[BI)I", "implEncrypt([BII[BI)I"},
	"com/sun/crypto/provider/GHASH":               {"processBlocks([BII[J[J)V"},
	"java/lang/Boolean":                           {"booleanValue()Z", "valueOf(Z)Ljava/lang/Boolean;"},
	"java/lang/Byte":                              {"byteValue()B", "valueOf(B)Ljava/lang/Byte;"},
	"java/lang/Character":                         {"charValue()C", "reverseBytes(C)C", "valueOf(C)Ljava/lang/Character;"},
	"java/lang/Double":                            {"doubleToLongBits(D)J", "doubleValue()D", "valueOf(D)Ljava/lang/Double;"},
	"java/lang/Float":                             {"floatToIntBits(F)I", "floatValue()F", "valueOf(F)Ljava/lang/Float;"},
	"java/lang/Integer": {
		"bitCount(I)I", "intValue()I", "numberOfLeadingZeros(I)I", "numberOfTrailingZeros(I)I", "reverseBytes(I)I",
		"toString(I)Ljava/lang/String;", "valueOf(I)Ljava/lang/Integer;",
	},
	"java/lang/Long": {
		"bitCount(J)I", "longValue()J", "numberOfLeadingZeros(J)I", "numberOfTrailingZeros(J)I", "reverseBytes(J)J", "valueOf(J)Ljava/lang/Long;",
	},
	"java/lang/Math": {
		"abs(D)D", "addExact(II)I", "addExact(JJ)J", "atan2(DD)D", "cos(D)D", "decrementExact(I)I", "decrementExact(J)J", "exp(D)D",
		"incrementExact(I)I", "incrementExact(J)J", "log(D)D", "log10(D)D", "max(II)I", "min(II)I", "multiplyExact(II)I", "multiplyExact(JJ)J",
		"negateExact(I)I", "negateExact(J)J", "pow(DD)D", "sin(D)D", "sqrt(D)D", "subtractExact(II)I", "subtractExact(JJ)J", "tan(D)D",
	},
	"java/lang/Object": {"<init>()V"},
	"java/lang/Short":  {"reverseBytes(S)S", "shortValue()S", "valueOf(S)Ljava/lang/Short;"},
	"java/lang/String": {"<init>(Ljava/lang/String;)V", "compareTo(Ljava/lang/String;)I", "equals(Ljava/lang/Object;)Z", "indexOf(Ljava/lang/String;)I"},
	"java/lang/StringBuffer": {
		"<init>()V", "<init>(I)V", "<init>(Ljava/lang/String;)V", "append(C)Ljava/lang/StringBuffer;", "append(I)Ljava/lang/StringBuffer;",
		"append(Ljava/lang/String;)Ljava/lang/StringBuffer;", "toString()Ljava/lang/String;",
	},
	"java/lang/StringBuilder": {
		"<init>()V", "<init>(I)V", "<init>(Ljava/lang/String;)V", "append(C)Ljava/lang/StringBuilder;", "append(I)Ljava/lang/StringBuilder;",
		"append(Ljava/lang/String;)Ljava/lang/StringBuilder;", "toString()Ljava/lang/String;",
	},
	"java/lang/invoke/MethodHandleImpl": {"profileBoolean(Z[I)Z"},
	"java/lang/ref/Reference":           {"get()Ljava/lang/Object;"},
	"java/lang/reflect/Method":          {"invoke(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;"},
	"java/math/BigInteger": {
		"implMontgomeryMultiply([I[I[IIJ[I)[I", "implMontgomerySquare([I[IIJ[I)[I", "implMulAdd([I[IIII)I", "implSquareToLen([II[II)[I",
		"multiplyToLen([II[II[I)[I",
	},
	"java/nio/Buffer": {"checkIndex(I)I"},
	"java/util/Arrays": {
		"copyOf([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;",
		"copyOfRange([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;", "equals([C[C)Z",
	},
	"sun/misc/Unsafe": {
		"getAndAddInt(Ljava/lang/Object;JI)I", "getAndAddLong(Ljava/lang/Object;JJ)J", "getAndSetInt(Ljava/lang/Object;JI)I",
		"getAndSetLong(Ljava/lang/Object;JJ)J", "getAndSetObject(Ljava/lang/Object;JLjava/lang/Object;)Ljava/lang/Object;",
	},
	"sun/nio/cs/ISO_8859_1$Encoder":    {"encodeISOArray([CI[BII)I"},
	"sun/security/provider/DigestBase": {"implCompressMultiBlock0([BII)I"},
	"sun/security/provider/SHA":        {"implCompress0([BI)V"},
	"sun/security/provider/SHA2":       {"implCompress0([BI)V"},
	"sun/security/provider/SHA5":       {"implCompress0([BI)V"},
}
