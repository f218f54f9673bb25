package callgraph

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// intrinsics are the native methods of the JDK that the JIT replaces by instructions, by
// class and name. A hook around one would cost many times what it measures. Methods that
// block or do real work are not among them: Object.wait and notify, Thread.sleep,
// String.intern.
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

// TooCheapToHook reports whether a hook around calls of a native method would cost far
// more than the method, because the JIT replaces the call by instructions. Such calls
// are never sites.
func TooCheapToHook(m classfile.MethodRef) bool {
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

// deciders are the methods that decide what calls of proxies do, by a supertype of all proxies of a
// kind. Which class implements the method for a proxy, only its objects know.
var deciders = map[string]classfile.MethodRef{
	"java/lang/reflect/Proxy": {
		Class: "java/lang/reflect/InvocationHandler", Name: "invoke",
		Descriptor: "(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;",
	},
	"net/sf/cglib/proxy/Factory":              interceptor("net/sf/cglib/proxy/"),
	"org/springframework/cglib/proxy/Factory": interceptor("org/springframework/cglib/proxy/"),
}

// interceptor is the method that intercepts the calls of CGLIB's proxies.
func interceptor(in string) classfile.MethodRef {
	return classfile.MethodRef{
		Class: in + "MethodInterceptor", Name: "intercept",
		Descriptor: "(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;L" + in + "MethodProxy;)Ljava/lang/Object;",
	}
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
	return slices.ContainsFunc(accessModes, func(mode string) bool { return strings.HasPrefix(name, mode) })
}

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// leafRule selects the methods of a class of the JDK that are leaves: they run no code of
// the program, neither by a call nor by loading or initialising its classes. A rule may
// only select methods that cannot be overridden: static and final methods, constructors,
// methods of final classes.
type leafRule struct {
	// plain makes every method a leaf whose arguments are plain (isPlain). The class
	// is final or has static methods only, and holds nothing but text and numbers,
	// so no object of the program is at hand whose methods could be called.
	plain bool
	// names are leaves whatever their arguments, except names no leaves. Each is a
	// name, or a name with descriptor.
	names, except []string
}

var leaves = map[string]leafRule{
	// Charsets may come from the program's providers.
	"java/lang/String": {plain: true, names: []string{"equals", "compareTo"}, except: []string{
		"getBytes", "<init>([B)V", "<init>([BI)V", "<init>([BII)V", "<init>([BIII)V",
		"<init>([BLjava/lang/String;)V", "<init>([BIILjava/lang/String;)V",
	}},
	"java/lang/StringBuilder": {plain: true},
	"java/lang/StringBuffer":  {plain: true},

	// These read system properties, which the program may have replaced.
	"java/lang/Boolean": {plain: true, names: []string{"equals", "compareTo"}, except: []string{"getBoolean"}},
	"java/lang/Integer": {plain: true, names: []string{"equals", "compareTo"}, except: []string{"getInteger"}},
	"java/lang/Long":    {plain: true, names: []string{"equals", "compareTo"}, except: []string{"getLong"}},
	// These read a resource.
	"java/lang/Character": {plain: true, names: []string{"equals", "compareTo"}, except: []string{"getName", "codePointOf"}},
	"java/lang/Byte":      {plain: true, names: []string{"equals", "compareTo"}},
	"java/lang/Short":     {plain: true, names: []string{"equals", "compareTo"}},
	"java/lang/Float":     {plain: true, names: []string{"equals", "compareTo"}},
	"java/lang/Double":    {plain: true, names: []string{"equals", "compareTo"}},

	"java/lang/Math":       {plain: true},
	"java/lang/StrictMath": {plain: true},
	"java/util/Arrays":     {plain: true},

	"java/lang/Object": {names: []string{"<init>", "getClass", "notify", "notifyAll", "wait"}},
	"java/lang/Number": {names: []string{"<init>"}},
	"java/lang/Record": {names: []string{"<init>"}},
	"java/lang/Enum":   {names: []string{"<init>", "name", "ordinal", "equals", "hashCode", "compareTo", "getDeclaringClass"}},
	"java/lang/Class": {names: []string{
		"cast", "desiredAssertionStatus", "getComponentType", "getModifiers", "getName", "getSuperclass", "hashCode",
		"isArray", "isAssignableFrom", "isInstance", "isInterface", "isPrimitive",
	}},
	"java/lang/System": {names: []string{"arraycopy", "currentTimeMillis", "identityHashCode", "lineSeparator", "nanoTime"}},
	"java/lang/Thread": {names: []string{"currentThread", "onSpinWait"}},
	"java/util/Objects": {names: []string{
		"checkIndex(II)I", "isNull", "nonNull", "requireNonNull(Ljava/lang/Object;)Ljava/lang/Object;",
		"requireNonNull(Ljava/lang/Object;Ljava/lang/String;)Ljava/lang/Object;",
	}},
	"java/util/concurrent/atomic/AtomicInteger": {names: atomics},
	"java/util/concurrent/atomic/AtomicLong":    {names: atomics},
	"java/util/concurrent/atomic/AtomicBoolean": {names: []string{"<init>", "compareAndSet", "get", "getAndSet", "set"}},
	// Linking a lambda runs nothing of it.
	"java/lang/invoke/LambdaMetafactory": {names: []string{"metafactory", "altMetafactory"}},
}

// atomics are final and compute with numbers.
var atomics = []string{
	"<init>", "addAndGet", "compareAndSet", "decrementAndGet", "get", "getAndAdd", "getAndDecrement",
	"getAndIncrement", "getAndSet", "incrementAndGet", "lazySet", "set",
}

func isLeaf(class, name, desc string) bool {
	rule, ok := leaves[class]
	if !ok {
		return false
	}
	listed := func(list []string) bool {
		return slices.ContainsFunc(list, func(entry string) bool {
			return entry == name || len(entry) > len(name) && strings.HasPrefix(entry, name) && entry[len(name):] == desc
		})
	}
	return !listed(rule.except) && (listed(rule.names) || rule.plain && hasPlainArguments([]byte(desc)))
}

// hasPlainArguments reports whether no argument can be an object of the program, or
// hold one.
func hasPlainArguments(desc []byte) bool {
	plain := true
	err := descriptor.EachArgument(desc, func(field []byte) { plain = plain && isPlain(field) })
	return plain && err == nil
}

// isPlain reports whether a type is primitive, a final class that holds text or a number,
// or an array of these.
func isPlain(field []byte) bool {
	for len(field) > 0 && field[0] == '[' {
		field = field[1:]
	}
	if len(field) == 1 {
		return true
	}
	if len(field) < 2 {
		return false
	}
	switch string(field[1 : len(field)-1]) {
	case "java/lang/String", "java/lang/StringBuilder", "java/lang/StringBuffer",
		"java/lang/Boolean", "java/lang/Byte", "java/lang/Character", "java/lang/Short",
		"java/lang/Integer", "java/lang/Long", "java/lang/Float", "java/lang/Double":
		return true
	}
	return false
}

// JDK are prefixes of the internal names of the JDK's classes.
var JDK = []string{
	"java/", "jdk/", "sun/", "com/sun/", "org/ietf/jgss/", "org/w3c/dom/", "org/xml/sax/", "netscape/javascript/",
	// Only some of javax: the rest belongs to application servers.
	"javax/accessibility/", "javax/annotation/processing/", "javax/crypto/", "javax/imageio/", "javax/lang/model/",
	"javax/management/", "javax/naming/", "javax/net/", "javax/print/", "javax/rmi/", "javax/script/", "javax/security/",
	"javax/smartcardio/", "javax/sound/", "javax/sql/", "javax/swing/", "javax/tools/", "javax/transaction/xa/", "javax/xml/",
}

// IsJDK reports whether a class belongs to the JDK.
func IsJDK(class string) bool { return HasPrefix(class, JDK) }

// HasPrefix reports whether a text has one of the prefixes.
func HasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
