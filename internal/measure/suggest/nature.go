package suggest

import (
	"slices"
	"strings"
)

// A Kind is what a method has to do with.
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
	Kind Kind
	Call string // of what, as a person writes it; for a lock that it takes, how
}

// A Nature is what a method's code says of it.
type Nature struct {
	Uses  []Use  // of each kind the first
	Entry string // the interface by which it takes requests or messages; "" for none
}

// A rule says what calls are of a kind: of classes that begin so, or are below such a
// type, methods that begin with one of the names; all where none is stated.
type rule struct {
	kind    Kind
	classes []string
	names   []string
	exact   []string // names that are whole
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

// kindOf is what a call of a method is, by the rules, as its class is named; "" for
// nothing that counts.
func kindOf(class, name string) Kind {
	for i := range rules {
		r := &rules[i]
		if hasPrefix(class, r.classes) && (len(r.names) == 0 || hasPrefix(name, r.names) || slices.Contains(r.exact, name)) {
			return r.kind
		}
	}
	return ""
}

// An entry is a method by which a framework hands requests or messages to a program.
type entry struct {
	types []string // declared by
	names []string // whole
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

// dotted is a call as a person writes it.
func dotted(class, name string) string { return strings.ReplaceAll(class, "/", ".") + "." + name }
