package original

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// Source says where the bytes come from that a class is woven from.
type Source uint8

const (
	// FromFile is the class's own file, proven to be what runs.
	FromFile Source = iota + 1
	// FromGiven is what the JVM showed.
	FromGiven
	// FromGraft is what the JVM showed with what it had forgotten put back.
	FromGraft
)

func (s Source) String() string {
	return [...]string{"nothing", "its class file", "what the JVM shows", "what the JVM shows, completed from its class file"}[s]
}

// Input is what is known of a class.
type Input struct {
	JDK   Version
	File  []byte // the class file that the class's loader finds; nil where there is none
	Given []byte // what the JVM shows a transformer
	// Loading is set where the class is not there yet: what the JVM shows then is what
	// it was given, nothing is rebuilt, and it keeps those bytes for undo.
	Loading bool
}

// Choice is what to weave a class from, and what to put back.
type Choice struct {
	Weave   []byte // what weaving starts from
	Restore []byte // what undo must put back; nil where what the JVM rebuilds loses nothing
	Source  Source
	// Unproven says why the file is not what runs; "" where it is, or was not needed.
	Unproven string
}

// Damage is the error of a class that redefinition would harm.
type Damage struct {
	Class string // with dots
	JDK   Version
	Bug   Bug
	Why   string // why nothing can be done about it
}

func (d *Damage) Error() string {
	return fmt.Sprintf("JDK %s loses %s of %s when it is redefined (%s), and %s", d.JDK, d.Bug.Loses, d.Class, d.Bug.ID, d.Why)
}

// Choose decides what a class is woven from. With a [*Damage] it returns the best
// there is, for a caller who goes on all the same. Other errors say that Given is no
// class file.
func Choose(in Input) (Choice, error) {
	given, err := classfile.Parse(in.Given)
	if err != nil {
		return Choice{}, fmt.Errorf("what the JVM shows is no class file: %w", err)
	}
	choice := Choice{Weave: in.Given, Source: FromGiven}
	if in.Loading {
		return choice, nil
	}
	c := comparison{given: given, jdk: in.JDK}
	if in.File == nil {
		choice.Unproven = "its own class file cannot be had"
		return choice, c.withoutFile(choice.Unproven)
	}
	if c.file, err = classfile.Parse(in.File); err != nil {
		choice.Unproven = fmt.Sprintf("what its loader finds is no class file: %v", err)
		return choice, c.withoutFile(choice.Unproven)
	}
	difference := c.prove()
	if difference == "" {
		choice = Choice{Weave: in.File, Source: FromFile}
		if c.rebuildingLoses() {
			choice.Restore = in.File
		}
		return choice, nil
	}
	choice.Unproven = "its class file is not what runs: " + difference
	return c.otherForm(choice)
}

// className is the class's name as programs write it.
func (c *comparison) className() string { return strings.ReplaceAll(c.given.Name(), "/", ".") }

func (c *comparison) damage(bug Bug, why string) *Damage {
	return &Damage{Class: c.className(), JDK: c.jdk, Bug: bug, Why: why}
}

// withoutFile is the damage done by weaving what the JVM shows, with no file to help.
// The JVM keeps every constant, so a class whose pool does not hold an attribute's
// name never had the attribute.
func (c *comparison) withoutFile(why string) error {
	switch {
	case parameterNames.In(c.jdk) && mayLoseParameters(c.given):
		return c.damage(parameterNames, why)
	case componentCount.In(c.jdk) && !readableRecord(c.given):
		return c.damage(componentCount, why)
	case componentTypes.In(c.jdk) && hasComponentTypes(c.given):
		return c.damage(componentTypes, why)
	}
	return nil
}

// rebuildingLoses reports whether the JVM's own bytes lack something that the file,
// which is what runs, has.
func (c *comparison) rebuildingLoses() bool {
	return parameterNames.In(c.jdk) && hasParameters(c.file) ||
		componentCount.In(c.jdk) && hasUnkeptComponents(c.file)
}

// otherForm chooses for a class that is not what its file says.
func (c *comparison) otherForm(choice Choice) (Choice, error) {
	if linkingRace.In(c.jdk) && c.onlyOperands {
		return choice, c.damage(linkingRace, choice.Unproven+", as when it is linked at this moment: try again")
	}
	if why := c.earlierForm(); why != "" {
		return choice, c.withoutFile("its class file is another class's or version's: " + why)
	}
	// The file knows what the class has, so absence in it is absence.
	names := parameterNames.In(c.jdk) && hasParameters(c.file) && !hasParameters(c.given)
	record := componentCount.In(c.jdk) && !readableRecord(c.given)
	switch {
	case componentTypes.In(c.jdk) && hasComponentTypes(c.given) && !c.poolExtends:
		return choice, c.damage(componentTypes, "another agent has moved its constants")
	case record && !c.poolExtends:
		return choice, c.damage(componentCount, choice.Unproven)
	case !names && !record:
		return choice, nil
	}
	grafted, err := c.graft(names, record)
	if err != nil {
		return choice, fmt.Errorf("completing %s: %w", c.className(), err)
	}
	return Choice{Weave: grafted, Restore: grafted, Source: FromGraft, Unproven: choice.Unproven}, nil
}
