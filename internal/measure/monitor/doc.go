// Package monitor tells, from two readings of an arena, what happened between them:
// calls, times, errors; and from the shadow stacks what is under way and what has
// stalled. The target is not asked. It does no I/O.
package monitor
