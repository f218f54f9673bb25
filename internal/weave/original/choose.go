// Package original decides from which bytes a class is woven, and which are restored at the end.
//
// The bytes that a JVM passes to a transformer are rebuilt from its own representation of the
// class. That representation is incomplete, and some JDKs lose data that reflection needs.
// The class file is complete, but the file that a loader finds need not be the class that
// runs. Therefore the file is compared with these bytes, and is used only if it is proven to be
// the same class.
package original

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
)

// Input is the known data of a class.
type Input struct {
	JDK   jdk.Version
	File  []byte // the class file that the loader of the class finds; nil if there is none
	Given []byte // the bytes that the JVM passes to a transformer
}

// Choice is the bytes to weave a class from, and the bytes to restore.
type Choice struct {
	Weave   []byte // to be woven
	Restore []byte // to be restored at the end; nil if the bytes that the JVM rebuilds lose nothing
	// Unproven says why the file is not the class that runs; "" if it is, or was not needed.
	Unproven string
}

// Damage reports that redefinition would damage a class.
type Damage struct {
	Class string // with dots
	JDK   jdk.Version
	Bug   jdk.Bug
	Why   string // why the damage cannot be avoided
}

func (d *Damage) Error() string {
	return fmt.Sprintf("redefining %s loses %s (%s, a bug of JDK %s), which cannot be avoided because %s", d.Class, d.Bug.Loses, d.Bug.ID, d.JDK, d.Why)
}

// Choose decides what a class is woven from. With a [*Damage] it also returns the best
// choice, for callers that accept the damage. Other errors say that Given is no class file.
func Choose(in Input) (Choice, error) {
	given, err := classfile.Parse(in.Given)
	if err != nil {
		return Choice{}, fmt.Errorf("the bytes from the JVM are not a class file: %w", err)
	}
	choice := Choice{Weave: in.Given}
	c := comparison{given: given, jdk: in.JDK}
	if in.File == nil {
		choice.Unproven = "its class file cannot be found"
		return choice, c.withoutFile(choice.Unproven)
	}
	if c.file, err = classfile.Parse(in.File); err != nil {
		choice.Unproven = fmt.Sprintf("the file that its loader finds is not a class file: %v", err)
		return choice, c.withoutFile(choice.Unproven)
	}
	difference := c.prove()
	if difference == "" {
		choice = Choice{Weave: in.File}
		if c.rebuildingLoses() {
			choice.Restore = in.File
		}
		return choice, nil
	}
	choice.Unproven = "its class file differs from the class in the JVM: " + difference
	return c.otherForm(choice)
}

// className returns the name of the class with dots.
func (c *comparison) className() string { return strings.ReplaceAll(c.given.Name(), "/", ".") }

func (c *comparison) damage(bug jdk.Bug, why string) *Damage {
	return &Damage{Class: c.className(), JDK: c.jdk, Bug: bug, Why: why}
}

// withoutFile returns the damage of weaving the bytes from the JVM, without a file.
// The JVM keeps every constant, so a class whose pool lacks the name of an attribute never
// had that attribute.
func (c *comparison) withoutFile(why string) error {
	switch {
	case jdk.ParameterNames.In(c.jdk) && mayLoseParameters(c.given):
		return c.damage(jdk.ParameterNames, why)
	case jdk.ComponentCount.In(c.jdk) && !readableRecord(c.given):
		return c.damage(jdk.ComponentCount, why)
	case jdk.ComponentTypes.In(c.jdk) && hasComponentTypes(c.given):
		return c.damage(jdk.ComponentTypes, why)
	}
	return nil
}

// rebuildingLoses reports whether the bytes that the JVM rebuilds lack something that the
// proven file has.
func (c *comparison) rebuildingLoses() bool {
	return jdk.ParameterNames.In(c.jdk) && hasParameters(c.file) ||
		jdk.ComponentCount.In(c.jdk) && hasUnkeptComponents(c.file)
}

// otherForm chooses for a class that differs from its file.
func (c *comparison) otherForm(choice Choice) (Choice, error) {
	if jdk.LinkingRace.In(c.jdk) && c.onlyOperands {
		return choice, c.damage(jdk.LinkingRace, choice.Unproven+", perhaps because it is being linked at this moment: try again")
	}
	if why := c.earlierForm(); why != "" {
		return choice, c.withoutFile("its class file belongs to another class or version: " + why)
	}
	// What the file does not have, the class does not have either.
	names := jdk.ParameterNames.In(c.jdk) && hasParameters(c.file) && !hasParameters(c.given)
	record := jdk.ComponentCount.In(c.jdk) && !readableRecord(c.given)
	switch {
	case jdk.ComponentTypes.In(c.jdk) && hasComponentTypes(c.given) && !c.poolExtends:
		return choice, c.damage(jdk.ComponentTypes, "another agent has renumbered its constant pool")
	case record && !c.poolExtends:
		return choice, c.damage(jdk.ComponentCount, choice.Unproven)
	case !names && !record:
		return choice, nil
	}
	grafted, err := c.graft(names, record)
	if err != nil {
		bug := jdk.ComponentCount
		if names {
			bug = jdk.ParameterNames
		}
		return choice, c.damage(bug, fmt.Sprintf("what the JVM has dropped cannot be restored: %v", err))
	}
	return Choice{Weave: grafted, Restore: grafted, Unproven: choice.Unproven}, nil
}

// earlierForm says why the file is not an earlier form of the class, from before agents
// changed it; "" if it is. Agents add members and interfaces and change bodies. They remove
// nothing: the class must still have every member that the file declares.
func (c *comparison) earlierForm() string {
	switch {
	case c.file.Name() != c.given.Name():
		return "it is " + c.file.Name()
	case c.file.SuperName() != c.given.SuperName():
		return "it extends " + c.file.SuperName()
	}
	if name := missingMember(c.file, c.file.Fields, c.given, c.given.Fields); name != "" {
		return "field " + name + " is only in the file"
	}
	if name := missingMember(c.file, c.file.Methods, c.given, c.given.Methods); name != "" {
		return "method " + name + " is only in the file"
	}
	return ""
}

func missingMember(file *classfile.Class, want []classfile.Member, given *classfile.Class, have []classfile.Member) string {
	index := indexMembers(given, have)
	for i := range want {
		key := keyOf(file, &want[i])
		other, ok := index[key]
		if !ok || (want[i].Access^have[other].Access)&classfile.AccStatic != 0 {
			return key.Member()
		}
	}
	return ""
}

// graft adds to the class from the JVM what only the file still has: the names of parameters,
// and the components of a record. The indices of components stay valid because the constants
// from the JVM begin with the constants of the file.
func (c *comparison) graft(names, record bool) ([]byte, error) {
	if names {
		if err := c.graftParameters(); err != nil {
			return nil, err
		}
	}
	if record {
		from := c.file.Find(c.file.Attributes, classfile.KindRecord)
		if to := c.given.Find(c.given.Attributes, classfile.KindRecord); from != nil && to != nil {
			to.Data = from.Data
		}
	}
	return c.given.Append(nil)
}

func (c *comparison) graftParameters() error {
	index := indexMembers(c.file, c.file.Methods)
	for i := range c.given.Methods {
		m := &c.given.Methods[i]
		k, ok := index[keyOf(c.given, m)]
		if !ok {
			continue
		}
		attribute := c.file.Find(c.file.Methods[k].Attributes, classfile.KindMethodParameters)
		if attribute == nil {
			continue
		}
		data, err := c.translateParameters(*attribute)
		if err != nil {
			return err
		}
		// The list shares memory with those of other members: it must not grow in place.
		m.Attributes = append(slices.Clip(m.Attributes), classfile.Attribute{
			Name: c.given.AttributeName(classfile.KindMethodParameters),
			Data: data,
		})
	}
	return c.given.Pool.Err()
}

// translateParameters writes the file's table with indices into the other pool.
func (c *comparison) translateParameters(attribute classfile.Attribute) ([]byte, error) {
	contents, err := c.file.Decode(attribute)
	if err != nil {
		return nil, err
	}
	table, _ := contents.(classfile.MethodParameters)
	for i := range table {
		if table[i].Name == 0 {
			continue
		}
		name, err := c.file.Pool.Utf8(table[i].Name)
		if err != nil {
			return nil, err
		}
		if !c.poolExtends {
			table[i].Name = c.given.Pool.AddUtf8(string(name))
		}
	}
	return classfile.AppendContents(nil, table)
}

// hasParameters reports whether any method has MethodParameters.
func hasParameters(c *classfile.Class) bool {
	return slices.ContainsFunc(c.Methods, func(m classfile.Member) bool { return c.Find(m.Attributes, classfile.KindMethodParameters) != nil })
}

// mayLoseParameters reports whether the JVM may have dropped MethodParameters of a class. A
// class that the JVM passes with some was not rebuilt, and is complete.
func mayLoseParameters(c *classfile.Class) bool {
	return !hasParameters(c) && anyMethodTakesParameters(c) && poolHolds(c, classfile.KindMethodParameters.String())
}

func anyMethodTakesParameters(c *classfile.Class) bool {
	return slices.ContainsFunc(c.Methods, func(m classfile.Member) bool {
		_, descriptor, err := c.MemberName(&m)
		return err == nil && !bytes.HasPrefix(descriptor, []byte("()"))
	})
}

func poolHolds(c *classfile.Class, text string) bool {
	for i := 1; i < c.Pool.Len(); i++ {
		if c.Pool.Tag(uint16(i)) != classfile.TagUtf8 {
			continue
		}
		if have, err := c.Pool.Utf8(uint16(i)); err == nil && string(have) == text {
			return true
		}
	}
	return false
}

// components returns the components of a record. ok is false if its attribute cannot be
// read, and true for a class that is no record.
func components(c *classfile.Class) (list classfile.Record, ok bool) {
	attribute := c.Find(c.Attributes, classfile.KindRecord)
	if attribute == nil {
		return nil, true
	}
	contents, err := c.Decode(*attribute)
	if err != nil {
		return nil, false
	}
	list, ok = contents.(classfile.Record)
	return list, ok
}

func readableRecord(c *classfile.Class) bool {
	_, ok := components(c)
	return ok
}

// hasUnkeptComponents reports whether a record's components have attributes that the
// JVM does not keep.
func hasUnkeptComponents(c *classfile.Class) bool {
	list, _ := components(c)
	for i := range list {
		for _, a := range list[i].Attributes {
			switch c.Kind(a.Name) {
			case classfile.KindSignature, classfile.KindRuntimeVisibleAnnotations, classfile.KindRuntimeVisibleTypeAnnotations:
			default:
				return true
			}
		}
	}
	return false
}

// hasComponentTypes reports whether components of a record have type annotations, or
// may have some because they cannot be read.
func hasComponentTypes(c *classfile.Class) bool {
	list, ok := components(c)
	for i := range list {
		if c.Find(list[i].Attributes, classfile.KindRuntimeVisibleTypeAnnotations) != nil {
			return true
		}
	}
	return !ok
}
