package code_test

import (
	"bytes"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

const zoo = "../testdata/zoo"

// TestLowerUnedited: lifted and lowered, a body is the bytes it was, with one lifter
// for all as with one for each, and lowering twice changes nothing.
func TestLowerUnedited(t *testing.T) {
	var lifter code.Lifter
	eachBody(t, zoo, func(t *testing.T, c *classfile.Class, m *classfile.Member, data []byte) {
		original := bytes.Clone(data)
		alone, err := code.Lift(c, m)
		if err != nil {
			t.Fatal(err)
		}
		reused, err := lifter.LiftCode(c, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []*code.Body{alone, reused, alone} {
			out, err := body.Append([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out, append([]byte("before"), original...)) {
				t.Errorf("lowered to other bytes\n was % x\n now % x", original, out[len("before"):])
			}
		}
		if !bytes.Equal(data, original) {
			t.Error("the bytes lifted were changed")
		}
	})
}

// TestListIsSound: the list is one chain in both directions, its length is known,
// offsets never fall, and whatever a node points at is a label of the list.
func TestListIsSound(t *testing.T) {
	eachBody(t, zoo, func(t *testing.T, c *classfile.Class, m *classfile.Member, _ []byte) {
		body, err := code.Lift(c, m)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[*code.Node]bool{}
		count := 0
		var last *code.Node
		for n := body.First(); n != nil; n = n.Next() {
			count++
			if n.Prev() != last {
				t.Fatalf("node %d does not lead back to the one before", count)
			}
			if last != nil && last.Offset() > n.Offset() {
				t.Errorf("a node of offset %d stands before one of offset %d", last.Offset(), n.Offset())
			}
			if n.Kind == code.Label {
				labels[n] = true
			}
			last = n
		}
		if body.Last() != last || body.Len() != count {
			t.Errorf("Len is %d, the list has %d nodes", body.Len(), count)
		}
		for _, n := range pointedAt(body) {
			if !labels[n] {
				t.Errorf("something points at a node of kind %d, offset %d: not a label of the list", n.Kind, n.Offset())
			}
		}
	})
}

// pointedAt lists whatever a body points at.
func pointedAt(body *code.Body) []*code.Node {
	var all []*code.Node
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Instruction && n.Target() != nil {
			all = append(all, n.Target())
		}
		if n.Kind == code.Instruction && n.Op().Info().Length == 0 {
			s := body.Switch(n)
			all = append(append(all, s.Default), s.Targets...)
		}
	}
	for _, h := range body.Handlers {
		all = append(all, h.Start, h.End, h.Entry)
	}
	for _, v := range body.Vars {
		all = append(all, v.Start, v.End)
	}
	for _, a := range body.TypeAnnotations {
		if a.At != nil {
			all = append(all, a.At)
		}
		for _, r := range a.Ranges {
			all = append(all, r.Start, r.End)
		}
	}
	for _, f := range body.Frames() {
		for _, list := range [][]code.Type{f.Locals, f.Stack} {
			for _, typ := range list {
				if typ.Item == code.Uninitialized {
					all = append(all, typ.New)
				}
			}
		}
	}
	return all
}

// TestNoBody: an abstract method lifts to nothing.
func TestNoBody(t *testing.T) {
	class, err := classfile.Parse(abstractClass())
	if err != nil {
		t.Fatal(err)
	}
	if body, err := code.Lift(class, &class.Methods[0]); body != nil || err != nil {
		t.Errorf("an abstract method lifted to %v, %v", body, err)
	}
}
