// Package universe is the model of the classes that a JVM has loaded.
package universe

// Loaded is a class that the JVM has loaded.
type Loaded struct {
	Name   string // internal
	Loader uint32 // number of its class loader in this session; 0 is the boot loader
	File   []byte // its class file; nil where it is not known
	Reason string // why it cannot have hooks; "" where it can
}
