package identity

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// tally counts what was looked at.
type tally struct{ classes, methods, bytes, mismatches int }

func (s *tally) add(more tally) {
	s.classes += more.classes
	s.methods += more.methods
	s.bytes += more.bytes
	s.mismatches += more.mismatches
}

func (s tally) String() string {
	return fmt.Sprintf("%7d classes %8d methods %11d bytes %d mismatches", s.classes, s.methods, s.bytes, s.mismatches)
}

// judge holds classes to the law, in memory it uses again: as a program would.
type judge struct {
	testing.TB
	*tally
	read    classfile.Class
	lifter  code.Lifter
	written []byte
	body    []byte
}

// class parses a class and appends it, then lifts and lowers each of its bodies.
func (j *judge) class(name string, data []byte) {
	j.classes++
	j.bytes += len(data)
	if err := j.same(data); err != nil {
		j.mismatches++
		j.Errorf("%s: %v", name, err)
	}
}

func (j *judge) same(data []byte) error {
	if err := j.read.Read(data); err != nil {
		return err
	}
	var err error
	if j.written, err = j.read.Append(j.written[:0]); err != nil {
		return err
	}
	if !bytes.Equal(j.written, data) {
		return fmt.Errorf("the class comes back as other bytes, from offset %d on", firstDifference(data, j.written))
	}
	for i := range j.read.Methods {
		m := &j.read.Methods[i]
		a := j.read.Find(m.Attributes, classfile.KindCode)
		if a == nil {
			continue
		}
		j.methods++
		if err := j.sameBody(a.Data); err != nil {
			method, descriptor, _ := j.read.MemberName(m)
			return fmt.Errorf("%s%s: %w", method, descriptor, err)
		}
	}
	return nil
}

func (j *judge) sameBody(data []byte) error {
	body, err := j.lifter.LiftCode(&j.read, data)
	if err != nil {
		return err
	}
	if j.body, err = body.Append(j.body[:0]); err != nil {
		return err
	}
	if !bytes.Equal(j.body, data) {
		return fmt.Errorf("the body comes back as other bytes, from offset %d of its attribute on", firstDifference(data, j.body))
	}
	return nil
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
