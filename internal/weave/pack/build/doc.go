// Package loom weaves what a set of probes wants into the classes of archives, without a
// JVM: for packs, and to say beforehand what would become of each class.
//
// Nobody knows yet which classes a program will load, nor by which loaders. So conditions
// call nothing that another class could override, and read nothing of which there are
// several; and a class is woven in each form in which an archive has it. The archives are
// only read.
package build
