package main

import "github.com/sonde-jvm/sonde/bench/jfluid"

// A subject is a program to be profiled, and from where.
type subject struct {
	name       string
	work       string // the Java class
	classpath  string
	options    []string
	operations []string // what counts as one
	roots      []jfluid.Root
	into       string // the classes that get hooks
}

var subjects = []subject{
	{
		name: "H2", work: "H2Work", classpath: "/usr/share/java/h2.jar",
		operations: []string{
			"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;",
			"org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I",
		},
		roots: []jfluid.Root{
			{Class: "org.h2.jdbc.JdbcPreparedStatement", Method: "executeQuery", Descriptor: "()Ljava/sql/ResultSet;"},
			{Class: "org.h2.jdbc.JdbcPreparedStatement", Method: "executeUpdate", Descriptor: "()I"},
		},
		into: "org.h2.**",
	},
	{
		name: "javac", work: "JavacTree", options: []string{"-Dtree=test/programs/src17", "-Dcopies=2"},
		operations: []string{"sources", "classes"},
		roots: []jfluid.Root{{
			Class: "com.sun.tools.javac.main.JavaCompiler", Method: "compile",
			Descriptor: "(Ljava/util/Collection;Ljava/util/Collection;Ljava/lang/Iterable;Ljava/util/Collection;)V",
		}},
		into: "com.sun.tools.javac.**",
	},
}

// patterns are the roots as Sonde names them.
func (s subject) patterns() []string {
	var all []string
	for _, root := range s.roots {
		all = append(all, root.Class+"."+root.Method)
	}
	return all
}
