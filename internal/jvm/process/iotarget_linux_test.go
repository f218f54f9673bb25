package process

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestParseSystemCall(t *testing.T) {
	for line, want := range map[string]systemCall{
		"7 0x7f00 0x1 0xffffffffffffffff 0x0 0x0 0x0 0x7f01 0x7f02\n": {7, 0x7f00}, "0 0x5 0x1 0x2 0x0 0x0 0x0 0x1 0x2": {0, 5},
		"running\n": {}, "-1 0x7ffc 0x7f3a": {}, "": {}, "7 x": {},
	} {
		got, ok := parseSystemCall(line)
		if isCall := want != (systemCall{}); ok != isCall || ok && got != want {
			t.Errorf("%q: got %v, %t, want %v", line, got, ok, want)
		}
	}
}

func TestPeerOf(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0200A8C0:0050 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:0051 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
   2: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:0052 01 00000000:00000000 00:00000000 00000000     0        0 4713 1
   3: zz yy 01 0 0 0 0 0 0 4714
   4: 00
`
	for inode, want := range map[string]string{"4711": "192.168.0.2:80", "4712": "127.0.0.1:81", "4713": "[::1]:82", "4714": "", "1": ""} {
		if got := peerOf(table, inode); got != want {
			t.Errorf("%s: got %q, want %q", inode, got, want)
		}
	}
}

// TestIOTarget reads from a connection on which nothing comes.
func TestIOTarget(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file, err := connection.(*net.TCPConn).File() // reads of it block a thread
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(int(file.Fd()), false); err != nil {
		t.Fatal(err)
	}
	thread, done := make(chan int), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- syscall.Gettid()
		_, _ = syscall.Read(int(file.Fd()), make([]byte, 1))
	}()
	id, want := <-thread, listener.Addr().String()
	got := ""
	for range 60_000 { // until it reads, however busy the machine is
		if got = Local.IOTarget(os.Getpid(), id); got != "" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if err := syscall.Shutdown(int(file.Fd()), syscall.SHUT_RDWR); err != nil {
		t.Error(err)
	}
	<-done
	_ = connection.Close()
}
