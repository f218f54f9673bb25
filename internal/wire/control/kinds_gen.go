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
	KindFollow     Kind = 28 // whether to announce members called by reflection
	KindSwitch     Kind = 29 // change entries of the table of probes
	KindWatches    Kind = 30 // the table of spots, anchors and tag points
	KindRestoring  Kind = 31 // how many classes are restored so far
	KindTransform  Kind = 40 // weave this class
	KindWoven      Kind = 41 // the class, woven
	KindNotice     Kind = 42 // something a user should read
	KindLeaves     Kind = 43 // why it ends by itself
)

var kinds = [256]kindInfo{
	KindHello:      {name: "HELLO", from: fromAgent},
	KindWelcome:    {name: "WELCOME", from: fromSonde},
	KindRefused:    {name: "REFUSED", from: fromEither},
	KindPing:       {name: "PING", from: fromSonde, last: KindDone},
	KindDone:       {name: "DONE", from: fromAgent},
	KindFailed:     {name: "FAILED", from: fromEither},
	KindMap:        {name: "MAP", from: fromSonde, last: KindDone},
	KindList:       {name: "LIST", from: fromSonde, part: KindClasses, last: KindClasses},
	KindClasses:    {name: "CLASSES", from: fromAgent},
	KindFetch:      {name: "FETCH", from: fromSonde, part: KindOriginal, last: KindDone},
	KindOriginal:   {name: "ORIGINAL", from: fromAgent},
	KindSees:       {name: "SEES", from: fromSonde, last: KindSeen},
	KindSeen:       {name: "SEEN", from: fromAgent},
	KindInstall:    {name: "INSTALL", from: fromSonde, last: KindInstalled},
	KindInstalled:  {name: "INSTALLED", from: fromAgent},
	KindProbes:     {name: "PROBES", from: fromSonde, last: KindDone},
	KindWatch:      {name: "WATCH", from: fromSonde, last: KindDone},
	KindRestore:    {name: "RESTORE", from: fromSonde, part: KindRestoring, last: KindRestored},
	KindRestored:   {name: "RESTORED", from: fromAgent},
	KindBye:        {name: "BYE", from: fromSonde, part: KindRestoring, last: KindRestored},
	KindThreads:    {name: "THREADS", from: fromSonde, last: KindNamed},
	KindNamed:      {name: "NAMED", from: fromAgent},
	KindCalibrate:  {name: "CALIBRATE", from: fromSonde, last: KindCalibrated},
	KindCalibrated: {name: "CALIBRATED", from: fromAgent},
	KindFollow:     {name: "FOLLOW", from: fromSonde, last: KindDone},
	KindSwitch:     {name: "SWITCH", from: fromSonde, last: KindDone},
	KindWatches:    {name: "WATCHES", from: fromSonde, last: KindDone},
	KindRestoring:  {name: "RESTORING", from: fromAgent},
	KindTransform:  {name: "TRANSFORM", from: fromAgent},
	KindWoven:      {name: "WOVEN", from: fromSonde},
	KindNotice:     {name: "NOTICE", from: fromAgent},
	KindLeaves:     {name: "LEAVES", from: fromAgent},
}
