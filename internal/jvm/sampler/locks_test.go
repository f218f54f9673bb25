package sampler

import (
	"testing"
	"time"
)

const lockDump = `2026-11-18 01:00:00
Full thread dump OpenJDK 64-Bit Server VM (25+36 mixed mode):

"worker-1" #31 [4712] prio=5 os_prio=0 cpu=1.00ms elapsed=3.00s tid=0x00007f01 nid=4712 waiting for monitor entry  [0x00007f02]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at a.Shop.pay(Shop.java:12)
	- waiting to lock <0x0000000712345678> (a a.Lock)
	at a.Shop.handle(Shop.java:7)
	- locked <0x0000000700000001> (a java.lang.Object)

"backup" #32 [4713] daemon prio=5 os_prio=0 cpu=1.00ms elapsed=3.00s tid=0x00007f03 nid=4713 waiting on condition  [0x00007f04]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
	at java.lang.Thread.sleep(java.base@25/Native Method)
	at a.Backup.run(Backup.java:3)
	- locked <0x0000000712345678> (a a.Lock)

"pool" #33 [4714] prio=5 os_prio=0 cpu=1.00ms elapsed=3.00s tid=0x00007f05 nid=4714 waiting on condition  [0x00007f06]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@25/Native Method)
	- parking to wait for  <0x0000000712340000> (a java.util.concurrent.Semaphore$NonfairSync)
	at a.Pool.borrow(Pool.java:9)

"waiter" #34 [4715] prio=5 os_prio=0 cpu=1.00ms elapsed=3.00s tid=0x00007f07 nid=4715 in Object.wait()  [0x00007f08]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait0(java.base@25/Native Method)
	- waiting on <0x0000000712341111> (a java.lang.String)
	at a.Waiter.run(Waiter.java:9)
	- locked <0x0000000712341111> (a java.lang.String)

"sonde-control" #35 [4716] daemon prio=5 os_prio=0 cpu=1.00ms elapsed=3.00s tid=0x00007f09 nid=4716 waiting on condition  [0x00007f0a]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@25/Native Method)
	- parking to wait for  <0x0000000712340002> (a java.lang.Object)
`

func TestLocksOfDumps(t *testing.T) {
	want := map[string]struct{ class, holder string }{
		"worker-1": {"a/Lock", "backup"}, "pool": {"java/util/concurrent/Semaphore$NonfairSync", ""}, "waiter": {"java/lang/String", ""},
	}
	for _, s := range newDumpReader(true).read(lockDump, time.Time{}) {
		w, waits := want[s.Thread.Name]
		if s.Thread.IsSondes() {
			continue
		}
		delete(want, s.Thread.Name)
		switch l := s.Lock; {
		case !waits && l != nil || waits && l == nil:
			t.Errorf("%s: got %+v, want %+v", s.Thread.Name, l, w)
		case !waits:
		case l.Class != w.class || (l.Holder != nil) != (w.holder != "") || l.Holder != nil && (l.Holder.Name != w.holder || len(l.Held.Frames) != 2 || l.Held.Frames[1].Method.Name != "run"):
			t.Errorf("%s: got %+v, want %+v, with what the holder executes", s.Thread.Name, l, w)
		}
	}
	if len(want) > 0 {
		t.Errorf("no sample of %v", want)
	}
}
