package control

import (
	"bufio"
	"net"
	"time"
)

// A lineReader reads a connection, and gives up when nothing comes for the
// length of silence.
type lineReader struct {
	conn    net.Conn
	silence time.Duration // 0 keeps the deadline that the connection has
	buffer  *bufio.Reader
}

func newLineReader(conn net.Conn) *lineReader {
	r := &lineReader{conn: conn}
	r.buffer = bufio.NewReaderSize((*patient)(r), 16<<10)
	return r
}

func (r *lineReader) Read(dst []byte) (int, error) { return r.buffer.Read(dst) }

// patient is the reader below the buffer.
type patient lineReader

func (r *patient) Read(dst []byte) (int, error) {
	if r.silence > 0 {
		if err := r.conn.SetReadDeadline(time.Now().Add(r.silence)); err != nil {
			return 0, err
		}
	}
	return r.conn.Read(dst)
}
