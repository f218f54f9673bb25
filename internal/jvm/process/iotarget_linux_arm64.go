package process

// otherPolls are calls that wait for one of several files, besides ppoll.
var otherPolls []uint64
