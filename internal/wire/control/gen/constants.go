package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

const header = "// Code generated from internal/wire/control/kinds.table; DO NOT EDIT.\n\n"

func goConstants(kinds []kind) ([]byte, error) {
	var constants, rows bytes.Buffer
	for _, k := range kinds {
		name := "Kind" + k.name[:1] + strings.ToLower(k.name[1:])
		fmt.Fprintf(&constants, "%s Kind = %d // %s\n", name, k.number, k.meaning)
		fmt.Fprintf(&rows, "%s: {%q, from%s},\n", name, k.name, strings.ToUpper(k.from[:1])+k.from[1:])
	}
	return format.Source(fmt.Appendf(nil, header+"package control\n\n"+
		"// The kinds of frames.\nconst (\n%s)\n\nvar kinds = [256]kindInfo{\n%s}\n", &constants, &rows))
}

func javaConstants(kinds []kind) []byte {
	var source bytes.Buffer
	source.WriteString(header + "package sonde.agent.control;\n\n" +
		"/** The kinds of frames between the agent and Sonde. */\nfinal class Kind {\n")
	for _, k := range kinds {
		fmt.Fprintf(&source, "    /** From %s: %s. */\n    static final int %s = %d;\n\n", sender(k.from), k.meaning, k.name, k.number)
	}
	source.WriteString("    private Kind() {}\n}\n")
	return source.Bytes()
}

func sender(from string) string {
	switch from {
	case "agent":
		return "the agent"
	case "sonde":
		return "Sonde"
	}
	return "either side"
}
