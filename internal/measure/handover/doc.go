// Package holder lets one Sonde ask another that holds a JVM: what it wants of it, to
// want something else, and to end.
//
// The Sonde that holds a JVM listens at a Unix socket in a directory of its own user,
// mode 0700: $XDG_RUNTIME_DIR/sonde where there is such, else /tmp/sonde-UID. The
// socket's name says which JVM: jvm-PID-START.sock, with the start of the process in
// clock ticks, so that it means one process for good. Who calls must be of the same
// user or root, by the word of the kernel; so must who is called.
//
// One call is one question and one answer, each a JSON object on a line, which is
// bounded in length, as is every wait:
//
//	{"sonde":1,"ask":"apply","probes":"version: 1\n…","dryRun":false}
//	{"sonde":1,"outcome":{"changes":[…],…}}
//	{"sonde":1,"ask":"save"}    {"sonde":1,"probes":"version: 1\n…"}
//	{"sonde":1,"ask":"status"}  {"sonde":1,"status":{…}}
//	{"sonde":1,"ask":"end"}     {"sonde":1}, once the JVM is left
//	anything else               {"sonde":1,"error":"…"}
package handover
