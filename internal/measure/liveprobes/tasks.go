package liveprobes

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
)

// taskMethods are the names of what the JDK calls of an object that it is given to run.
var taskMethods = []string{"run", "call", "get", "apply", "accept", "compute", "exec", "handle"}

// tasksOf are what the JDK may call of objects that methods of a tree make, to be run
// by an executor or as a stage: the tree, which does not follow the JDK, has only their
// constructors. Lambdas are in it already.
func (w *Watch) tasksOf(tree *calltree.Tree) (tasks []callgraph.Method) {
	met := make(map[string]bool)
	tree.Each(func(n *calltree.Node) {
		if n.Name != "<init>" || n.JDK || met[n.Class] {
			return
		}
		met[n.Class] = true
		for _, c := range w.world.classes[n.Class] {
			if file := w.world.open(c); file == nil || !isGivenToJDK(file.File) {
				continue
			}
			for _, m := range w.world.methods(c) {
				if slices.Contains(taskMethods, m.name) {
					tasks = append(tasks, callgraph.Method{Class: c.name, Name: m.name, Descriptor: m.descriptor})
				}
			}
		}
	})
	return tasks
}

// isGivenToJDK reports whether a class extends or implements one of the JDK's
// java.util.concurrent or java.util.function, or is a Runnable.
func isGivenToJDK(c *classfile.Class) bool {
	isTask := func(name string) bool {
		return name == "java/lang/Runnable" || name == "java/lang/Thread" ||
			strings.HasPrefix(name, "java/util/concurrent/") || strings.HasPrefix(name, "java/util/function/")
	}
	if isTask(c.SuperName()) {
		return true
	}
	return slices.ContainsFunc(c.Interfaces, func(index uint16) bool {
		name, err := c.Pool.ClassName(index)
		return err == nil && isTask(string(name))
	})
}
