package descriptor

// The model of generic signatures (JVMS 4.7.9.1):
//
//	ClassSignature  = [TypeParams] ClassType { ClassType } .
//	MethodSignature = [TypeParams] "(" { JavaType } ")" ( JavaType | "V" ) { "^" ( ClassType | TypeVar ) } .
//	FieldSignature  = ClassType | TypeVar | ArrayType .
//	TypeParams      = "<" TypeParam { TypeParam } ">" .
//	TypeParam       = Identifier ":" [RefType] { ":" RefType } .
//	ClassType       = "L" { Identifier "/" } Simple { "." Simple } ";" .
//	Simple          = Identifier [ "<" TypeArg { TypeArg } ">" ] .
//	TypeArg         = "*" | [ "+" | "-" ] RefType .
//	TypeVar         = "T" Identifier ";" .
//	ArrayType       = "[" JavaType .

// ClassSignature is the generic form of a class declaration.
type ClassSignature struct {
	TypeParams []TypeParam
	Superclass SigType   // Kind 'L'
	Interfaces []SigType // Kind 'L'
}

// MethodSignature is the generic form of a method declaration.
type MethodSignature struct {
	TypeParams []TypeParam
	Params     []SigType
	Return     SigType
	Throws     []SigType // Kind 'L' or 'T'
}

// TypeParam declares a type variable with its bounds.
type TypeParam struct {
	Name            string
	ClassBound      *SigType // nil where only interfaces bound the variable
	InterfaceBounds []SigType
}

// SigType is a type in a signature. Kind says which fields hold: a letter of
// "BCDFIJSZ" or 'V' alone; 'T' with Name, a type variable; '[' with Elem, an
// array; 'L' with Classes, a class.
type SigType struct {
	Kind    byte
	Name    string
	Elem    *SigType
	Classes []SigClass // outermost first; never empty for Kind 'L'
}

// SigClass is one class of a class type: the outermost with its package,
// a/b/C, then each member class with its simple name.
type SigClass struct {
	Name string
	Args []TypeArg
}

// TypeArg is an argument of a class type. Wildcard is 0 for the type itself,
// '+' for "? extends", '-' for "? super", '*' for "?" alone, which has no
// type.
type TypeArg struct {
	Wildcard byte
	Type     SigType
}
