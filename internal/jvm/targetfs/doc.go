// Package foothold is everything Sonde places into a target's file system, and
// its removal.
//
//	/tmp/.sonde-<pid>-<random>/       0700  one session's
//	    session                       0600  what the agent is told (docs/formats/control.md)
//	    socket                        0600  where it dials
//	/tmp/.sonde-<uid>/                0700  shared by the sessions of a user
//	    agent-<hash>.jar             01600  stays while a JVM lives that has loaded it
//	    used-<pid>                   01600  says that this one has
//	/dev/shm/sonde-<pid>-<random>.arena     what is measured
//	/tmp/.sonde_pid<pid>, .sonde_invite<pid>  an agent that waits, and its invitation
//	/tmp/.sonde_hold<pid>                     while an agent holds its program at the start
//
// <pid> is the target's number as it sees itself. Places are the target's own,
// in its mount namespace, reached by handles of directories: no path is walked
// twice, and no symbolic link that a user could have put there is followed. All
// is made with the identity of the target's user, so root does nothing there
// that this user could not do, and verified by what the handle says.
//
// A JVM keeps the path of an agent's jar on its class path, with a file open for
// each distinct path, so that path is the same at every attach.
//
// What is in use is locked (flock), which a killed Sonde can do nothing about:
// what is ours and not locked is left over, and Sweep takes it away.
package targetfs
