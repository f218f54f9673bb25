package categories

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

func TestOf(t *testing.T) {
	if _, err := probeset.ParseOwn(names, "names.yaml"); err != nil {
		t.Fatal(err)
	}
	above := map[string]string{
		"acme/Statement": "java/sql/PreparedStatement", "acme/Listener": "jakarta/jms/MessageListener", "acme/Task": "java/lang/Runnable",
		"acme/Handler": "io/netty/channel/ChannelInboundHandler", "acme/Servlet": "jakarta/servlet/http/HttpServlet", "acme/Hidden": "com/sun/net/httpserver/Filter$Chain",
	}
	isSubtype := func(class, super string) bool { return above[class] == super }
	const service = "(Ljakarta/servlet/http/HttpServletRequest;Ljakarta/servlet/http/HttpServletResponse;)V"
	for _, test := range []struct{ class, name, descriptor, byName, byType string }{
		{"org/h2/jdbc/JdbcPreparedStatement", "executeQuery", "()Ljava/sql/ResultSet;", "db", "db"},
		{"org/h2/jdbc/JdbcPreparedStatement", "setInt", "(II)V", "", ""},
		{"acme/Statement", "executeQuery", "()Ljava/sql/ResultSet;", "", "db"},
		{"acme/Statement", "close", "()V", "", ""},
		{"acme/Other", "executeQuery", "()Ljava/sql/ResultSet;", "", ""},
		{"jakarta/servlet/http/HttpServlet", "service", service, "web", "web"},
		{"jakarta/servlet/http/HttpServlet", "service", "(Ljakarta/servlet/ServletRequest;Ljakarta/servlet/ServletResponse;)V", "", ""},
		{"acme/Servlet", "service", service, "", "web"},
		{"acme/Hidden", "doFilter", "(Lcom/sun/net/httpserver/HttpExchange;)V", "", "web"},
		{"com/sun/net/httpserver/Filter$Chain", "doFilter", "(Lcom/sun/net/httpserver/HttpExchange;)V", "web", "web"},
		{"jdk/internal/net/http/HttpClientImpl", "send", "(Ljava/net/http/HttpRequest;)Ljava/net/http/HttpResponse;", "web", "web"},
		{"acme/Listener", "onMessage", "(Ljakarta/jms/Message;)V", "", "messaging"},
		{"java/io/FileInputStream", "read", "([B)I", "files", "files"},
		{"sun/nio/ch/NioSocketImpl", "read", "([BII)I", "sockets", "sockets"},
		{"java/util/concurrent/locks/ReentrantLock", "lockInterruptibly", "()V", "locks", "locks"},
		{"java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock", "lock", "()V", "locks", "locks"},
		{"java/util/concurrent/locks/ReentrantLock", "unlock", "()V", "", ""},
		// Data select these calls, not types.
		{"acme/Task", "run", "()V", "", ""},
		{"acme/Handler", "channelRead", "(Lio/netty/channel/ChannelHandlerContext;Ljava/lang/Object;)V", "", ""},
		{"", "waits", "", "", ""},
	} {
		m := classfile.MethodRef{Class: test.class, Name: test.name, Descriptor: test.descriptor}
		if got := Of(m, nil); got != test.byName {
			t.Errorf("%v is by name of category %q, not %q", m, got, test.byName)
		}
		if got := Of(m, isSubtype); got != test.byType {
			t.Errorf("%v is by type of category %q, not %q", m, got, test.byType)
		}
	}
}
