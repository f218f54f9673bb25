package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A connection carries one command and its reply:
//
//	version 1   "1" 0 command 0 argument 0 argument 0 argument 0
//	version 2   "2" 0 size 0 command 0 (argument 0)…     size = bytes after it
//	reply       code "\n" text
//
// Every HotSpot knows version 1, JDK 24 and later also version 2.
const (
	argumentsV1      = 3
	longestCommandV1 = 16
	longestWordV1    = 1024
	longestRequestV2 = 256 << 10
	longestReply     = 256 << 20

	codeBadVersion = 101
)

// A Reply is a JVM's answer to a command.
type Reply struct {
	Code int // 0 for success
	Text string
}

// fitsV1 reports whether version 1 can carry a command.
func fitsV1(command string, args []string) bool {
	isLong := func(arg string) bool { return len(arg) > longestWordV1 }
	return len(command) <= longestCommandV1 && len(args) <= argumentsV1 && !slices.ContainsFunc(args, isLong)
}

func requestV1(command string, args []string) []byte {
	words := append([]string{"1", command}, args...)
	for len(words) < 2+argumentsV1 {
		words = append(words, "")
	}
	return appendWords(nil, words)
}

func requestV2(command string, args []string) []byte {
	body := appendWords(nil, append([]string{command}, args...))
	return append(appendWords(nil, []string{"2", strconv.Itoa(len(body))}), body...)
}

func appendWords(dst []byte, words []string) []byte {
	for _, word := range words {
		dst = append(append(dst, word...), 0)
	}
	return dst
}

// hasZero reports whether a word contains a zero byte, which would end it.
func hasZero(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.IndexByte(word, 0) >= 0 })
}

var (
	errReplyTooLong = fmt.Errorf("the reply is longer than %d bytes", longestReply)
	errNoReply      = errors.New("the connection ended without a reply")
)

// converse sends a request and reads the reply. The end of the context interrupts it at once.
func converse(ctx context.Context, conn net.Conn, request []byte) (Reply, error) {
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// A JVM may answer before it has read all of a request that it refuses.
	_, writeErr := conn.Write(request)
	data, err := io.ReadAll(io.LimitReader(conn, longestReply+1))
	switch {
	case ctx.Err() != nil:
		return Reply{}, ctx.Err()
	case len(data) > longestReply:
		return Reply{}, errReplyTooLong
	case len(data) == 0 && writeErr != nil:
		return Reply{}, writeErr
	case len(data) == 0 && err != nil:
		return Reply{}, err
	case len(data) == 0:
		return Reply{}, errNoReply
	}
	return parseReply(data)
}

func parseReply(data []byte) (Reply, error) {
	line, text, _ := bytes.Cut(data, []byte("\n"))
	code, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		return Reply{}, fmt.Errorf("the reply begins with %q instead of a number", line[:min(len(line), 40)])
	}
	return Reply{Code: code, Text: string(text)}, nil
}

// firstLine returns the first line of a text, shortened for an error.
func firstLine(text string) string {
	const most = 200
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
