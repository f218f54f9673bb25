package weave

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// A Problem is a reason why a user's template is refused, with the remedy.
type Problem struct {
	Line int // of the source; 0 if it is not known
	Text string
}

// A UserTemplateError lists everything that is wrong with a user's template, one problem per line.
type UserTemplateError struct {
	File     string
	Problems []Problem
}

func (e *UserTemplateError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		at := e.File
		if p.Line > 0 {
			at += ":" + itoa(p.Line)
		}
		lines = append(lines, at+": "+p.Text)
	}
	return strings.Join(lines, "\n")
}

// mostTurns is how often the loops of a template may turn, one inside the other multiplied.
const mostTurns = 1000

// Remedies.
const (
	allowedCalls = "a template may call methods of Template and Math, System.nanoTime, and pure methods of String, StringBuilder, Thread and the boxes; --trusted allows all"
	allowedLoops = "count from one constant to another, such as for (int i = 0; i < 10; i++); --trusted allows all loops"
)

// checkUser returns what the code of a user's template must not do in a running program.
func checkUser(class *classfile.Class, b *code.Body, isTrusted bool) (problems []Problem) {
	lines := linesOf(b)
	refuse := func(n *code.Node, format string, args ...any) {
		problems = append(problems, Problem{lines[n], fmt.Sprintf(format, args...)})
	}
	order := positions(b)
	loops, unbounded := loopsOf(b, order)
	if !isTrusted {
		for _, head := range unbounded {
			refuse(head, "has a loop without a constant bound: %s", allowedLoops)
		}
	}
	turnsAt := func(n *code.Node) int {
		turns := 1
		for _, l := range loops {
			if order[l.head] <= order[n] && order[n] <= order[l.end] {
				turns = min(turns*l.turns, mostTurns+1)
			}
		}
		return turns
	}
	for _, l := range loops {
		if turns := turnsAt(l.head); turns > mostTurns && !isTrusted {
			refuse(l.head, "has a loop of more than %d turns: shorten it, or use --trusted", mostTurns)
		}
	}
	allocating := func(n *code.Node) bool { return len(loops) > 0 && turnsAt(n) != 1 }
	const once = "which allocates in each turn: move it out of the loop, or use --trusted"
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction {
			continue
		}
		if n.Op() == opcode.Monitorenter {
			refuse(n, "locks an object, and the program might have to wait for the lock: leave out synchronized")
		}
		if isTrusted {
			continue
		}
		switch op := n.Op(); op {
		case opcode.Invokevirtual, opcode.Invokespecial, opcode.Invokestatic, opcode.Invokeinterface:
			owner, name, desc, err := class.Pool.Member(n.Index())
			if err != nil {
				refuse(n, "calls a method whose name is damaged: compile it again")
				continue
			}
			kind := pureCall(string(owner), string(name), string(desc))
			switch {
			case kind == notPure:
				refuse(n, "calls %s.%s: %s", descriptor.ExternalName(string(owner)), name, allowedCalls)
			case kind == allocates && allocating(n):
				refuse(n, "calls %s.%s in a loop, %s", descriptor.ExternalName(string(owner)), name, once)
			}
		case opcode.Invokedynamic:
			refuse(n, "has a lambda or a method reference, which calls other code: write the code in the template, or use --trusted")
		case opcode.New:
			name, _ := class.Pool.ClassName(n.Index()) // a damaged one is not allowed either
			switch {
			case string(name) != "java/lang/StringBuilder":
				refuse(n, "makes a %s: only texts may be made; --trusted allows all objects", descriptor.ExternalName(string(name)))
			case allocating(n):
				refuse(n, "makes a text in a loop, %s", once)
			}
		case opcode.Newarray, opcode.Anewarray, opcode.Multianewarray:
			refuse(n, "makes an array: use variables, or --trusted")
		case opcode.Putfield, opcode.Putstatic, opcode.Getstatic:
			owner, name, _, _ := class.Pool.Member(n.Index()) // names of a damaged one are empty
			what := "changes"
			if op == opcode.Getstatic {
				what = "reads the static field"
			}
			refuse(n, "%s %s.%s: a template may read fields of objects, and change only its own variables; --trusted allows all", what, descriptor.ExternalName(string(owner)), name)
		case opcode.Iastore, opcode.Lastore, opcode.Fastore, opcode.Dastore, opcode.Aastore, opcode.Bastore, opcode.Castore, opcode.Sastore:
			refuse(n, "changes an array of the program: a template may change only its own variables; --trusted allows all")
		case opcode.Ldc:
			if tag := class.Pool.Tag(n.Index()); tag == classfile.TagClass || tag == classfile.TagDynamic || tag == classfile.TagMethodHandle || tag == classfile.TagMethodType {
				refuse(n, "names a class as a value, which may load it: use Template.className(), or --trusted")
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	// Of several problems of a line, the first is enough.
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.Line == b.Line && a.Line > 0 })
}

// linesOf returns the source line of each node.
func linesOf(b *code.Body) map[*code.Node]int {
	lines := make(map[*code.Node]int)
	line := 0
	var waiting []*code.Node // labels before a line number belong to it
	for n := b.First(); n != nil; n = n.Next() {
		switch n.Kind {
		case code.Line:
			line = int(n.Value())
			for _, label := range waiting {
				lines[label] = line
			}
			waiting = nil
		case code.Instruction:
			waiting = nil
		default:
			waiting = append(waiting, n)
		}
		lines[n] = line
	}
	return lines
}

func positions(b *code.Body) map[*code.Node]int {
	order := make(map[*code.Node]int)
	for n := b.First(); n != nil; n = n.Next() {
		order[n] = len(order)
	}
	return order
}

// A loop counts from a constant to a constant.
type loop struct {
	head, end *code.Node // the label that begins it, and the jump back
	turns     int
}

// loopsOf returns the loops that count, and the labels at which others begin.
func loopsOf(b *code.Body, order map[*code.Node]int) (counted []loop, others []*code.Node) {
	for n := b.First(); n != nil; n = n.Next() {
		for _, target := range targets(b, n) {
			if order[target] > order[n] {
				continue
			}
			if turns, ok := countTurns(b, order, target, n); ok {
				counted = append(counted, loop{target, n, turns})
			} else {
				others = append(others, target)
			}
		}
	}
	return counted, others
}

// countTurns returns how often a loop turns that javac has made of for (int i = A; i < B; i += C) with constants:
//
//	push A, istore i, head: iload i, push B, if_icmpge beyond, …, iinc i C, goto head
//
// Nothing else may change i or jump into the loop.
func countTurns(b *code.Body, order map[*code.Node]int, head, jump *code.Node) (turns int, ok bool) {
	load := instructionFrom(head)
	limit := after(load)
	test := after(limit)
	step := before(jump)
	store := before(head)
	from := before(store)
	if !jump.Is(opcode.Goto) || test == nil || step == nil || from == nil || !load.Is(opcode.Iload) || !step.Is(opcode.Iinc) || !store.Is(opcode.Istore) {
		return 0, false
	}
	i := load.Index()
	first, isFirst := intOf(b.Class, from)
	last, isLast := intOf(b.Class, limit)
	if !isFirst || !isLast || store.Index() != i || step.Index() != i || step.Value() <= 0 || order[step] < order[test] {
		return 0, false
	}
	switch {
	case test.Is(opcode.IfIcmpgt):
		last++
	case !test.Is(opcode.IfIcmpge):
		return 0, false
	}
	isInside := func(n *code.Node) bool { return order[head] <= order[n] && order[n] <= order[jump] }
	if isInside(test.Target()) {
		return 0, false
	}
	for n := b.First(); n != nil; n = n.Next() {
		if n.Kind == code.Instruction && isInside(n) && n != step && n.Index() == i && (n.Is(opcode.Istore) || n.Is(opcode.Iinc)) {
			return 0, false
		}
		for _, target := range targets(b, n) {
			if isInside(target) && !isInside(n) {
				return 0, false
			}
		}
	}
	for _, h := range b.Handlers {
		if isInside(h.Entry) && !(isInside(h.Start) && isInside(h.End)) {
			return 0, false
		}
	}
	by := int64(step.Value())
	return int(min(max((last-first+by-1)/by, 1), mostTurns+1)), true
}

// intOf returns the constant that an instruction pushes.
func intOf(c *classfile.Class, n *code.Node) (value int64, ok bool) {
	switch op := n.Op(); {
	case n.Kind != code.Instruction:
	case op >= opcode.IconstM1 && op <= opcode.Iconst5:
		return int64(op) - int64(opcode.Iconst0), true
	case op == opcode.Bipush || op == opcode.Sipush:
		return int64(n.Value()), true
	case op == opcode.Ldc && c.Pool.Tag(n.Index()) == classfile.TagInteger:
		v, err := c.Pool.Int(n.Index())
		return int64(v), err == nil
	}
	return 0, false
}

// instructionFrom returns the first instruction at or after a node; nil if there is none.
func instructionFrom(n *code.Node) *code.Node {
	for n != nil && n.Kind != code.Instruction {
		n = n.Next()
	}
	return n
}

func after(n *code.Node) *code.Node {
	if n == nil {
		return nil
	}
	return instructionFrom(n.Next())
}

func before(n *code.Node) *code.Node {
	if n == nil {
		return nil
	}
	for n = n.Prev(); n != nil && n.Kind != code.Instruction; n = n.Prev() {
	}
	return n
}

// A purity says whether a user's template may call a method.
type purity uint8

const (
	notPure   purity = iota
	isPure           // it only computes
	allocates        // and makes objects
)

// unhookable are methods that the templates of users may call and that no hook can be in, since they are native.
var unhookable = map[string]bool{
	"java/lang/System.nanoTime": true, "java/lang/System.currentTimeMillis": true, "java/lang/System.identityHashCode": true,
	"java/lang/Thread.currentThread": true, "java/lang/Object.getClass": true,
}

// pureMethods are the other methods, by class. None calls a method that a class of the program could override.
var pureMethods = map[string]map[string]purity{
	"java/lang/String": {
		"length": isPure, "charAt": isPure, "isEmpty": isPure, "equals": isPure, "equalsIgnoreCase": isPure, "startsWith": isPure, "endsWith": isPure,
		"indexOf": isPure, "lastIndexOf": isPure, "hashCode": isPure, "compareTo": isPure,
		"substring": allocates, "trim": allocates, "concat": allocates, "valueOf": allocates,
	},
	"java/lang/StringBuilder": {"<init>": allocates, "append": allocates, "toString": allocates, "length": isPure},
	"java/lang/Thread":        {"getName": isPure},
	"java/lang/Class":         {"getName": isPure},
}

// boxMethods are the methods of the classes that box values.
var boxMethods = map[string]purity{
	"booleanValue": isPure, "byteValue": isPure, "shortValue": isPure, "charValue": isPure, "intValue": isPure, "longValue": isPure, "floatValue": isPure, "doubleValue": isPure,
	"compare": isPure, "hashCode": isPure, "bitCount": isPure, "numberOfLeadingZeros": isPure, "numberOfTrailingZeros": isPure, "highestOneBit": isPure, "signum": isPure,
	"isNaN": isPure, "isInfinite": isPure, "parseInt": isPure, "parseLong": isPure, "parseDouble": isPure, "parseBoolean": isPure,
	"valueOf": allocates, "toString": allocates, "toHexString": allocates,
}

// pureCall says whether a user's template may call a method. Arguments may be primitive or texts, because methods
// of other classes call back: String.valueOf(Object) calls toString.
func pureCall(class, name, desc string) purity {
	arguments, _, _ := strings.Cut(strings.ReplaceAll(desc, "Ljava/lang/String;", ""), ")")
	isEquals := name == "equals" && desc == "(Ljava/lang/Object;)Z"
	switch {
	case class == intrinsicsClass && (name == "arg" || name == "result"):
		return allocates // a primitive is boxed
	case class == intrinsicsClass, unhookable[class+"."+name]:
		return isPure
	case strings.ContainsAny(arguments, "L[") && !isEquals:
		return notPure
	case class == "java/lang/Math" && name != "random":
		return isPure
	}
	if kind := pureMethods[class][name]; kind != notPure {
		return kind
	}
	for _, box := range boxes {
		if box == class {
			return boxMethods[name]
		}
	}
	return notPure
}
