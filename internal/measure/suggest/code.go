package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Code is what class files show about a program.
type Code struct {
	graph   *callgraph.Graph
	classes map[string]*classCode
	uses    map[classfile.MethodRef][]Use
}

type classCode struct {
	methods []methodCode
}

type methodCode struct {
	classfile.MethodRef
	access          classfile.Access
	callgraph.Shape // of its code; no bytes if it has none
}

func newCode() *Code {
	return &Code{graph: callgraph.New(callgraph.Settings{Whole: true, Bodies: true}), classes: make(map[string]*classCode), uses: make(map[classfile.MethodRef][]Use)}
}

var errNameless = errors.New("the class has no name")

// add takes in a class file, which must not change. Of several with the same name the first
// counts.
func (c *Code) add(file []byte) error {
	class, err := classfile.Parse(file)
	if err != nil {
		return err
	}
	name := class.Name()
	switch {
	case name == "":
		return errNameless
	case c.classes[name] != nil:
		return nil
	}
	if _, err := c.graph.Add(file); err != nil {
		return err
	}
	known := &classCode{}
	for i := range class.Methods {
		member := &class.Methods[i]
		method, descriptor, err := class.MemberName(member)
		if err != nil {
			return err
		}
		m := methodCode{classfile.MethodRef{Class: name, Name: string(method), Descriptor: string(descriptor)}, member.Access, callgraph.Shape{}}
		if code, err := class.Code(member.Attributes); err == nil && code != nil {
			m.Shape = callgraph.ShapeOf(code.Bytes)
		}
		known.methods = append(known.methods, m)
	}
	c.classes[name] = known
	return nil
}

// named returns the methods of a class that a method stands for.
func (c *Code) named(m classfile.MethodRef) (found []*methodCode) {
	class := c.classes[m.Class]
	if class == nil {
		return nil
	}
	for i := range class.methods {
		one := &class.methods[i]
		if one.Name == m.Name && (m.Descriptor == "" || one.Descriptor == m.Descriptor) {
			found = append(found, one)
		}
	}
	return found
}

func (c *Code) isAlone(m classfile.MethodRef) bool {
	return len(c.named(anyOverload(m))) == 1
}

// isTiny reports whether compilers inline a method into every caller. A method with a loop is
// worth a probe anyway.
func (m *methodCode) isTiny() bool { return m.Bytes <= overhead.InlinedCode && !m.Loops }

// anyOverload returns a method as a thread dump has it, without a descriptor: it stands for
// all overloads.
func anyOverload(m classfile.MethodRef) classfile.MethodRef {
	return classfile.MethodRef{Class: m.Class, Name: m.Name}
}

// passesOn reports whether nobody wrote the methods of a class, or they do nothing but call
// another.
func passesOn(class string) bool {
	return hotspots.PassesOn(class) || strings.ContainsAny(class, "+;[") || strings.HasPrefix(class, "java/lang/Thread")
}

func isOurs(class string) bool {
	return agent.IsHookClass(class) || strings.HasPrefix(class, "sonde/agent/")
}

var (
	// central are packages of the JDK that everything depends on: redefining one of their
	// classes discards half of a program's compiled code.
	central = []string{
		"java/", "jdk/internal/", "sun/nio/", "sun/misc/", "sun/reflect/", "sun/security/", "sun/util/", "sun/invoke/", "sun/launcher/", "jdk/jfr/", "sun/net/www/",
	}
	// notCentral are prefixes among those on which little compiled code depends. A server's loop
	// calls the selector directly, with no method of the program in between.
	notCentral = []string{"jdk/internal/net/http/", "sun/nio/ch/SelectorImpl"}
)

// isCentral reports whether a class of the JDK is left alone.
func isCentral(class string) bool {
	return callgraph.HasPrefix(class, central) && !callgraph.HasPrefix(class, notCentral)
}

// A Kind is what a method deals with.
type Kind string

// The kinds.
const (
	Database Kind = "database"
	HTTP     Kind = "HTTP"
	Queue    Kind = "messages"
	Network  Kind = "network"
	Files    Kind = "files"
	Lock     Kind = "lock"
)

// A Use is a kind of call that a method makes, itself or through small methods of the
// program.
type Use struct {
	Kind Kind   `json:"kind"`
	Call string `json:"call"` // the called method as a person writes it; for a lock, how it is taken
}

// A Nature is what a method's code shows about it.
type Nature struct {
	Uses  []Use  // the first of each kind
	Entry string // the interface through which it gets requests or messages; "" for none
}

// A rule says which calls are of a kind: those of classes with one of the prefixes, or of
// subtypes, and of methods with one of the prefixes, or all if there is none.
type rule struct {
	kind    Kind
	classes []string
	names   []string
	exact   []string // whole names of methods
}

var rules = []rule{
	{Database, []string{"java/sql/", "javax/sql/"}, []string{"execute", "prepareStatement", "prepareCall", "getConnection", "getXAConnection", "getPooledConnection"}, []string{"commit", "rollback", "connect", "next"}},
	{Database, []string{
		"jakarta/persistence/EntityManager", "javax/persistence/EntityManager", "jakarta/persistence/Query", "javax/persistence/Query", "jakarta/persistence/TypedQuery",
		"org/hibernate/Session", "org/hibernate/query/Query", "org/jooq/ResultQuery", "org/jooq/DSLContext", "org/springframework/jdbc/core/", "org/apache/ibatis/session/SqlSession",
		"com/mongodb/client/", "redis/clients/jedis/", "io/lettuce/core/api/sync/", "com/datastax/", "org/elasticsearch/client/", "org/neo4j/driver/",
	}, nil, nil},
	{HTTP, []string{
		"java/net/http/HttpClient", "okhttp3/Call", "org/apache/http/client/HttpClient", "org/apache/http/impl/client/", "org/apache/hc/client5/http/", "retrofit2/Call",
		"org/springframework/web/client/", "javax/ws/rs/client/", "jakarta/ws/rs/client/",
	}, []string{"send", "execute", "enqueue", "exchange", "getFor", "postFor", "get", "post", "put", "delete", "invoke"}, nil},
	{HTTP, []string{"java/net/HttpURLConnection", "java/net/URLConnection", "javax/net/ssl/HttpsURLConnection", "java/net/URL"}, []string{"connect", "getInputStream", "getOutputStream", "getResponse", "openStream", "getContent"}, nil},
	{Queue, []string{
		"javax/jms/", "jakarta/jms/", "org/apache/kafka/clients/", "com/rabbitmq/client/Channel", "org/apache/pulsar/client/api/", "io/nats/client/", "org/zeromq/",
		"software/amazon/awssdk/services/sqs/", "org/springframework/jms/core/", "org/springframework/kafka/core/", "org/springframework/amqp/",
	}, []string{"send", "receive", "poll", "commit", "publish", "basic", "request", "recv", "convertAndSend"}, nil},
	{Network, []string{"java/net/Socket", "java/net/DatagramSocket", "java/net/InetAddress", "javax/net/", "java/net/MulticastSocket"}, []string{"<init>", "connect", "send", "receive", "accept", "getByName", "getAllByName", "createSocket", "getInputStream", "getOutputStream"}, nil},
	{Network, []string{"java/nio/channels/SocketChannel", "java/nio/channels/ServerSocketChannel", "java/nio/channels/DatagramChannel", "java/nio/channels/AsynchronousSocketChannel", "java/nio/channels/Selector"},
		[]string{"open", "connect", "read", "write", "accept", "receive", "send", "select"}, nil},
	{Network, []string{"io/netty/channel/Channel", "io/grpc/ManagedChannel", "io/grpc/stub/ClientCalls"}, []string{"write", "connect", "blocking", "async", "newCall", "flush"}, nil},
	{Files, []string{"java/io/FileInputStream", "java/io/FileOutputStream", "java/io/RandomAccessFile", "java/io/FileReader", "java/io/FileWriter", "java/io/FileDescriptor"},
		[]string{"<init>", "read", "write", "seek", "setLength", "sync", "getChannel"}, nil},
	{Files, []string{"java/nio/channels/FileChannel", "java/nio/channels/AsynchronousFileChannel"}, []string{"open", "read", "write", "force", "map", "transfer", "lock", "truncate"}, nil},
	{Files, []string{"java/nio/file/Files"}, nil, nil},
	{Lock, []string{"java/util/concurrent/locks/"}, []string{"lock", "tryLock", "readLock", "writeLock", "await", "lockInterruptibly"}, nil},
	{Lock, []string{"java/util/concurrent/Semaphore", "java/util/concurrent/CountDownLatch", "java/util/concurrent/CyclicBarrier", "java/util/concurrent/Phaser"}, []string{"acquire", "await", "tryAcquire"}, nil},
	{Lock, []string{"java/util/concurrent/Future", "java/util/concurrent/CompletableFuture"}, []string{"get", "join"}, nil},
	{Lock, []string{"java/lang/Object"}, []string{"wait"}, nil},
}

// kindOf returns the kind of a call by the name of its class; "" if no rule applies.
func kindOf(class, name string) Kind {
	for i := range rules {
		r := &rules[i]
		if callgraph.HasPrefix(class, r.classes) && (len(r.names) == 0 || callgraph.HasPrefix(name, r.names) || slices.Contains(r.exact, name)) {
			return r.kind
		}
	}
	return ""
}

// An entry is a method through which a framework passes requests or messages to a program.
type entry struct {
	types []string // that declare it
	names []string
	what  string
}

var entries = []entry{
	{[]string{"jakarta/servlet/Servlet", "javax/servlet/Servlet", "jakarta/servlet/http/HttpServlet", "javax/servlet/http/HttpServlet", "jakarta/servlet/GenericServlet", "javax/servlet/GenericServlet", "org/apache/jasper/runtime/HttpJspBase"},
		[]string{"service", "doGet", "doPost", "doPut", "doDelete", "doHead", "doPatch", "_jspService"}, "servlet"},
	{[]string{"jakarta/servlet/Filter", "javax/servlet/Filter"}, []string{"doFilter"}, "filter of requests"},
	{[]string{"com/sun/net/httpserver/HttpHandler"}, []string{"handle"}, "handler of HTTP requests"},
	{[]string{"jakarta/jms/MessageListener", "javax/jms/MessageListener"}, []string{"onMessage"}, "listener of messages"},
	{[]string{"io/netty/channel/ChannelInboundHandler"}, []string{"channelRead", "channelRead0"}, "handler of a channel"},
	{[]string{"org/springframework/web/servlet/HandlerInterceptor"}, []string{"preHandle", "postHandle"}, "interceptor of requests"},
	{[]string{"org/quartz/Job"}, []string{"execute"}, "job"},
	{[]string{"io/grpc/ServerCallHandler"}, []string{"startCall"}, "handler of calls"},
	{[]string{"java/sql/Driver", "java/sql/Connection", "java/sql/PreparedStatement", "java/sql/CallableStatement", "java/sql/Statement", "javax/sql/DataSource"},
		[]string{"execute", "executeQuery", "executeUpdate", "executeBatch", "commit", "rollback", "getConnection", "prepareStatement", "prepareCall"}, "JDBC driver"},
}

const (
	// smallCode is the size up to which what a method calls counts as called by its callers,
	// through at most maxHops such methods.
	smallCode = 80
	maxHops   = 2
	// maxTargets is how many methods a call may reach to be followed: of a call that may
	// reach many it is not known which one it reaches.
	maxTargets = 2
)

// nature returns what the code of a method shows about it.
func (c *Code) nature(m classfile.MethodRef) (n Nature) {
	for _, one := range c.named(m) {
		for _, use := range c.usesOf(one.MethodRef, maxHops) {
			n.add(use)
		}
		if n.Entry == "" {
			n.Entry = c.entryOf(one.MethodRef)
		}
		switch {
		case one.access.Has(classfile.AccSynchronized):
			n.add(Use{Lock, "synchronized"})
		case one.Monitors:
			n.add(Use{Lock, "synchronized block"})
		}
	}
	return n
}

func (n *Nature) add(use Use) {
	if !slices.ContainsFunc(n.Uses, func(known Use) bool { return known.Kind == use.Kind }) {
		n.Uses = append(n.Uses, use)
	}
}

// usesOf returns the calls of all kinds that a method makes, itself or through small
// methods.
func (c *Code) usesOf(m classfile.MethodRef, hops int) []Use {
	if known, is := c.uses[m]; is && hops == maxHops {
		return known
	}
	var n Nature
	if hops == maxHops {
		c.uses[m] = nil // meanwhile, as methods call themselves
	}
	for _, call := range c.graph.Calls(m) {
		if call.Kind == callgraph.Initializer || call.Kind == callgraph.Dynamic {
			continue
		}
		d := call.Declared
		if kind := c.kindOf(m, d.Class, d.Name); kind != "" {
			n.add(Use{kind, d.QualifiedName()})
			continue
		}
		if hops == 0 || callgraph.IsJDK(d.Class) {
			continue
		}
		targets := c.graph.Targets(call, m)
		if len(targets) > maxTargets {
			continue
		}
		for _, target := range targets {
			next := target.MethodRef
			if small := c.named(next); next != m && len(small) == 1 && small[0].Bytes > 0 && small[0].Bytes <= smallCode {
				for _, use := range c.usesOf(next, hops-1) {
					n.add(use)
				}
			}
		}
	}
	if hops == maxHops {
		c.uses[m] = n.Uses
	}
	return n.Uses
}

// typed are the supertypes of a driver's own classes: a call of those is a call of the
// database.
var typed = []string{"java/sql/PreparedStatement", "java/sql/CallableStatement", "java/sql/Statement", "java/sql/Connection", "java/sql/ResultSet", "javax/sql/DataSource", "java/util/concurrent/locks/Lock"}

// kindOf returns the kind of a call, by its class or by what that class implements. Calls
// between classes of one project have none: a driver does not call itself.
func (c *Code) kindOf(caller classfile.MethodRef, class, name string) Kind {
	if kind := kindOf(class, name); kind != "" {
		return kind
	}
	if c.classes[class] == nil || callgraph.Project(caller.Class) == callgraph.Project(class) {
		return ""
	}
	for _, super := range typed {
		if c.graph.IsSubtype(class, super) {
			if kind := kindOf(super, name); kind != "" {
				return kind
			}
		}
	}
	return ""
}

// entryOf returns through what a method gets requests; "" if it does not.
func (c *Code) entryOf(m classfile.MethodRef) string {
	for i := range entries {
		e := &entries[i]
		if !slices.Contains(e.names, m.Name) {
			continue
		}
		for _, super := range e.types {
			if m.Class != super && c.graph.IsSubtype(m.Class, super) {
				return e.what + " (" + strings.ReplaceAll(super, "/", ".") + ")"
			}
		}
	}
	return ""
}

// ErrNoNature says that no method of archives deals with anything worth a probe.
var ErrNoNature = errors.New("no method in these files receives requests or uses databases, the network, files or locks: name the jars of the program itself")

// ErrNoClass says that archives hold no class.
var ErrNoClass = errors.New("no class file was found in it")

// maxOfClass is how many methods of a class one line names: more are hardly the cause of
// anything.
const maxOfClass = 12

// ReadArchives proposes probes by the code of jars, folders or class files: not more
// lines than most, each for the methods of one class.
func ReadArchives(ctx context.Context, inputs []string, most int) (*Proposal, error) {
	code := newCode()
	p := &Proposal{}
	for _, input := range inputs {
		read := 0
		err := archive.Walk(ctx, input, func(e archive.Entry) error {
			if e.Release() == 0 && code.add(slices.Clone(e.Data)) == nil { // a file that cannot be read shows nothing
				read++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if read == 0 {
			return nil, fmt.Errorf("%s: %w", input, ErrNoClass)
		}
		p.Inputs = append(p.Inputs, filepath.Base(input))
	}
	p.Read = len(code.classes)
	p.Choices, p.More = byNature(code, most)
	if len(p.Choices) == 0 {
		return nil, ErrNoNature
	}
	return p, nil
}

// kinds are the kinds in order of their worth.
var kinds = []Kind{Request, Database, HTTP, Queue, Network, Files, Lock}

// Request is the kind of methods through which requests come in.
const Request Kind = "requests"

// lead returns the kind for which a method is proposed.
func (c *Candidate) lead() Kind {
	if c.Entry != "" {
		return Request
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(c.Uses, func(u Use) bool { return u.Kind == kind }) {
			return kind
		}
	}
	return ""
}

// A group is the methods of one kind in a class.
type group struct {
	class   string
	choices []Choice
}

// byNature chooses methods by their code: a class of each kind in turn, so that each kind
// has room.
func byNature(code *Code, most int) (chosen []Choice, more int) {
	queues := make(map[Kind][]*group)
	for class := range code.classes {
		for kind, g := range code.groups(class) {
			queues[kind] = append(queues[kind], g)
		}
	}
	longest := 0
	for _, queue := range queues {
		slices.SortFunc(queue, func(a, b *group) int { return cmp.Or(b.weight()-a.weight(), cmp.Compare(a.class, b.class)) })
		longest = max(longest, len(queue))
	}
	taken := make(map[Kind]int)
	for turn, lines := 0, 0; turn < longest; turn++ {
		for _, kind := range kinds {
			if lines < most && turn < len(queues[kind]) {
				taken[kind]++
				lines++
			}
		}
	}
	for _, kind := range kinds {
		for i, g := range queues[kind] {
			room := 0
			if i < taken[kind] {
				room = min(len(g.choices), maxOfClass)
			}
			chosen = append(chosen, g.choices[:room]...)
			more += len(g.choices) - room
		}
	}
	return chosen, more
}

// weight is larger for classes that deal with several kinds.
func (g *group) weight() (weight int) {
	for i := range g.choices {
		weight = max(weight, len(g.choices[i].Uses))
	}
	return weight
}

// groups returns the methods of a class that are worth a probe, by kind.
func (c *Code) groups(class string) map[Kind]*group {
	found := make(map[Kind]*group)
	known := c.classes[class]
	for i := range known.methods {
		m := &known.methods[i]
		isWritten := m.Bytes > 0 && !m.access.Has(classfile.AccBridge) && !m.access.Has(classfile.AccSynthetic) && m.Name != "<clinit>"
		isMain := m.Name == "main" && m.access.Has(classfile.AccStatic) // called once
		if !isWritten || isMain || callgraph.IsJDK(class) && isCentral(class) {
			continue
		}
		one := &Candidate{MethodRef: m.MethodRef}
		one.Nature = c.nature(one.MethodRef)
		kind := one.lead()
		if kind == "" || m.isTiny() && kind != Request {
			continue
		}
		if one.Pattern = pattern.Of(one.MethodRef, c.isAlone(one.MethodRef)); one.Pattern == "" {
			continue
		}
		one.Members = []classfile.MethodRef{one.MethodRef}
		why := ForNature
		if kind == Request {
			why = ForEntry
		}
		if found[kind] == nil {
			found[kind] = &group{class: class}
		}
		found[kind].choices = append(found[kind].choices, Choice{Candidate: one, Why: why})
	}
	for _, g := range found {
		slices.SortStableFunc(g.choices, func(a, b Choice) int { return cmp.Or(len(b.Uses)-len(a.Uses), a.Compare(b.MethodRef)) })
	}
	return found
}
