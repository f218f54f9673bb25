// Code generated from internal/wire/control/kinds.table; DO NOT EDIT.

package control

// The kinds of frames.
const (
	KindHello      Kind = 1  // the agent proves itself and says what it is
	KindWelcome    Kind = 2  // Sonde proves itself and grants the lease
	KindRefused    Kind = 3  // no session comes about, and why
	KindPing       Kind = 4  // nothing but a sign of life
	KindDone       Kind = 5  // it is done
	KindFailed     Kind = 6  // it could not be done, and why
	KindMap        Kind = 10 // map the arena
	KindList       Kind = 11 // name the loaded classes
	KindClasses    Kind = 12 // some of the loaded classes
	KindFetch      Kind = 13 // hand over class files
	KindOriginal   Kind = 14 // a class file, or why there is none
	KindSees       Kind = 15 // ask whether classes can see the hooks
	KindSeen       Kind = 16 // which classes cannot, and why
	KindInstall    Kind = 17 // retransform classes
	KindInstalled  Kind = 18 // what that took and what became of it
	KindProbes     Kind = 19 // the table of probes
	KindWatch      Kind = 20 // which classes to hand over while they are loaded
	KindRestore    Kind = 21 // put everything back
	KindRestored   Kind = 22 // what was put back and what was not
	KindBye        Kind = 23 // put everything back and end
	KindThreads    Kind = 24 // name the threads
	KindNamed      Kind = 25 // the names of threads
	KindCalibrate  Kind = 26 // measure what hooks cost
	KindCalibrated Kind = 27 // how long the runs took
	KindFollow     Kind = 28 // whether to tell of members called by reflection
	KindSwitch     Kind = 29 // change entries of the table of probes
	KindWatches    Kind = 30 // the table of spots, anchors and tag points
	KindRestoring  Kind = 31 // how many classes are restored so far
	KindTransform  Kind = 40 // weave this class
	KindWoven      Kind = 41 // the class, woven
	KindNotice     Kind = 42 // something a user should read
)

var kinds = [256]kindInfo{
	KindHello:      {"HELLO", fromAgent},
	KindWelcome:    {"WELCOME", fromSonde},
	KindRefused:    {"REFUSED", fromEither},
	KindPing:       {"PING", fromSonde},
	KindDone:       {"DONE", fromAgent},
	KindFailed:     {"FAILED", fromEither},
	KindMap:        {"MAP", fromSonde},
	KindList:       {"LIST", fromSonde},
	KindClasses:    {"CLASSES", fromAgent},
	KindFetch:      {"FETCH", fromSonde},
	KindOriginal:   {"ORIGINAL", fromAgent},
	KindSees:       {"SEES", fromSonde},
	KindSeen:       {"SEEN", fromAgent},
	KindInstall:    {"INSTALL", fromSonde},
	KindInstalled:  {"INSTALLED", fromAgent},
	KindProbes:     {"PROBES", fromSonde},
	KindWatch:      {"WATCH", fromSonde},
	KindRestore:    {"RESTORE", fromSonde},
	KindRestored:   {"RESTORED", fromAgent},
	KindBye:        {"BYE", fromSonde},
	KindThreads:    {"THREADS", fromSonde},
	KindNamed:      {"NAMED", fromAgent},
	KindCalibrate:  {"CALIBRATE", fromSonde},
	KindCalibrated: {"CALIBRATED", fromAgent},
	KindFollow:     {"FOLLOW", fromSonde},
	KindSwitch:     {"SWITCH", fromSonde},
	KindWatches:    {"WATCHES", fromSonde},
	KindRestoring:  {"RESTORING", fromAgent},
	KindTransform:  {"TRANSFORM", fromAgent},
	KindWoven:      {"WOVEN", fromSonde},
	KindNotice:     {"NOTICE", fromAgent},
}
