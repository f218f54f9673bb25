// Package trace puts what hooks wrote about single calls together to transactions:
// trees of calls in time, over the threads that worked for them.
//
// Records come at the exit of a call, so inner ones before outer ones, in a ring for
// each thread. Rings are read one after the other: what another thread did for a
// transaction may be read before or after the transaction's own root. The assembler
// waits for it a bounded time with bounded memory; what it gives up is counted.
//
// Nothing here reads or writes anything: records come in, transactions go out.
package trace
