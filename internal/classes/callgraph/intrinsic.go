package callgraph

import "strings"

// intrinsics are the native methods of the JDK that the JIT replaces by
// instructions, by class and name. A hook around one would cost many times what it
// measures. Not among them are those that block or do real work: Object.wait and
// notify, Thread.sleep, String.intern.
var intrinsics = map[string]map[string]bool{
	"java/lang/Object": set("getClass", "hashCode", "clone"),
	"java/lang/System": set("arraycopy", "currentTimeMillis", "identityHashCode", "nanoTime"),
	"java/lang/Thread": set("currentThread", "currentCarrierThread", "onSpinWait", "scopedValueCache", "extentLocalCache"),
	"java/lang/Class": set("getModifiers", "getSuperclass", "isArray", "isAssignableFrom", "isHidden", "isInstance",
		"isInterface", "isPrimitive"),
	"java/lang/Float":                 set("floatToRawIntBits", "intBitsToFloat"),
	"java/lang/Double":                set("doubleToRawLongBits", "longBitsToDouble"),
	"java/lang/reflect/Array":         set("getLength", "newArray"),
	"jdk/internal/reflect/Reflection": set("getCallerClass", "getClassAccessFlags"),
	"sun/reflect/Reflection":          set("getCallerClass", "getClassAccessFlags"),
	"java/lang/ref/Reference":         set("refersTo0", "get", "clear0"),
	"java/lang/ref/PhantomReference":  set("refersTo0", "clear0"),
	"java/lang/StringCoding":          set("hasNegatives", "implEncodeISOArray"),
}

// blocking are the native methods of Unsafe that are no instructions.
var blocking = set("park", "unpark")

// IsIntrinsic reports whether the JIT replaces a native method by instructions. Calls
// of such methods are never sites.
func IsIntrinsic(m Method) bool {
	switch m.Class {
	case "jdk/internal/misc/Unsafe", "sun/misc/Unsafe":
		return !blocking[m.Name]
	case "java/lang/StrictMath", "java/lang/invoke/VarHandle":
		return true
	case "java/lang/invoke/MethodHandle":
		return isPolymorphic(m.Class, m.Name) || strings.HasPrefix(m.Name, "linkTo")
	}
	return intrinsics[m.Class][m.Name]
}

// reflections are the methods that call, create or initialise what only their
// arguments name.
var reflections = map[string]map[string]bool{
	"java/lang/Class":               set("forName", "newInstance"),
	"java/lang/reflect/Method":      set("invoke"),
	"java/lang/reflect/Constructor": set("newInstance"),
	"java/lang/reflect/Proxy":       set("newProxyInstance"),
	"java/util/ServiceLoader":       set("load", "loadInstalled", "iterator", "stream", "findFirst"),
}

// polymorphic are the methods that take any arguments and call a handle.
var polymorphic = map[string]map[string]bool{
	"java/lang/invoke/MethodHandle": set("invoke", "invokeExact", "invokeBasic", "invokeWithArguments",
		"linkToVirtual", "linkToStatic", "linkToSpecial", "linkToInterface", "linkToNative"),
}

// accessModes are how the methods of VarHandle that take any arguments begin. A
// handle that was made by a filter calls the filter.
var accessModes = []string{"get", "set", "compareAnd", "weakCompareAnd"}

func isPolymorphic(class, name string) bool {
	if class != "java/lang/invoke/VarHandle" {
		return polymorphic[class][name]
	}
	for _, mode := range accessModes {
		if strings.HasPrefix(name, mode) {
			return true
		}
	}
	return false
}

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}
