// Package jvmproc tells what can be known of the JVMs of a host without
// touching them: it reads /proc and the files processes name there, in their
// own mount namespaces, and sends nothing to anyone.
//
// Processes belong to others and may lie or vanish at any time. What cannot be
// read is left unknown; only what is known is acted on.
package process
