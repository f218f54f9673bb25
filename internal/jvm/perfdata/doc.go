// Package hsperf reads the counters that a HotSpot JVM publishes in a file of
// shared memory, /tmp/hsperfdata_<user>/<pid>, without the JVM taking part.
//
// The file belongs to another process, which may be writing it this moment, may
// have died half way, or may lie: whatever it holds, reading it gives counters
// or a *FormatError, never more work than its size.
package perfdata
