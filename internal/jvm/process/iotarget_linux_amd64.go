package process

import "golang.org/x/sys/unix"

// otherPolls are calls that wait for one of several files, besides ppoll.
var otherPolls = []uint64{unix.SYS_POLL}
