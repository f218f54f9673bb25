package original

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// earlierForm says why the file is not the class in an earlier form, as it was before
// agents added to it; "" where it is. Agents add members and interfaces and change
// bodies. They do not take away: what the file declares must still be there.
func (c *comparison) earlierForm() string {
	switch {
	case c.file.Name() != c.given.Name():
		return "it is " + c.file.Name()
	case c.file.SuperName() != c.given.SuperName():
		return "it extends " + c.file.SuperName()
	}
	if name := missingMember(c.file, c.file.Fields, c.given, c.given.Fields); name != "" {
		return "field " + name + " is in the file only"
	}
	if name := missingMember(c.file, c.file.Methods, c.given, c.given.Methods); name != "" {
		return "method " + name + " is in the file only"
	}
	return ""
}

func missingMember(file *classfile.Class, want []classfile.Member, given *classfile.Class, have []classfile.Member) string {
	index := indexMembers(given, have)
	for i := range want {
		key := keyOf(file, &want[i])
		other, ok := index[key]
		if !ok || (want[i].Access^have[other].Access)&classfile.AccStatic != 0 {
			return key.String()
		}
	}
	return ""
}

// graft puts back into what the JVM shows what only the file still knows: the names
// of parameters, and a record's components, whose indices hold because what is shown
// begins with the file's constants.
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
		// The list is shared with other members' memory: it must not grow in place.
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
	return table.AppendTo(nil)
}
