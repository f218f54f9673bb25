// Package own distinguishes the classes of a program from those of the JDK and of libraries. Which
// packages are the program's own is guessed from its main class, its class path and a list of known
// libraries, or given by the user.
package own

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// Packages are the packages of a program, as opposed to packages of libraries.
type Packages struct {
	Names []string `json:"packages"`       // with dots, such as com.acme, each with the packages below it; "" is the unnamed package
	From  string   `json:"from,omitempty"` // how they are known, such as "the main jar"
	Rest  bool     `json:"rest,omitempty"` // also all classes that belong to no known library
}

// Given returns the packages that a user has named, with or without the stars of a pattern.
func Given(names []string) Packages {
	p := Packages{From: "--own"}
	for _, name := range names {
		p.Names = append(p.Names, strings.TrimRight(name, ".*"))
	}
	return p
}

// Has reports whether a class, by its internal name, belongs to the program.
func (p Packages) Has(class string) bool {
	pkg := descriptor.PackageOf(class)
	return slices.ContainsFunc(p.Names, func(name string) bool { return isIn(pkg, slashed(name)) }) || p.Rest && !IsLibrary(class)
}

// mostNamed is how many packages a line names.
const mostNamed = 6

// String returns one line that says what the packages are and how they are known.
func (p Packages) String() string {
	var names []string
	for _, name := range p.Names[:min(len(p.Names), mostNamed)] {
		if name == "" {
			name = "the unnamed package"
		}
		names = append(names, name)
	}
	if len(p.Names) > mostNamed {
		names = append(names, "…")
	}
	if p.Rest {
		names = append(names, "all that are not of a known library")
	}
	if p.From == "--own" {
		return "own packages: " + strings.Join(names, ", ") + " (--own)"
	}
	return "own packages: " + strings.Join(names, ", ") + " (from " + p.From + "; --own changes it)"
}

func slashed(name string) string { return strings.ReplaceAll(name, ".", "/") }

// isIn reports whether a package is another one or below it. Nothing is below the unnamed package.
func isIn(pkg, other string) bool {
	return pkg == other || other != "" && strings.HasPrefix(pkg, other) && pkg[len(other)] == '/'
}

// root returns the part of a package's name that the packages of one project share; false if the
// name is only a domain that many projects share.
func root(pkg string) (name string, ok bool) {
	segments := strings.Split(pkg, "/")
	n := 1
	if len(segments[0]) == 2 || slices.Contains(domains, segments[0]) {
		n = 2
	}
	if len(segments) > 1 && (slices.Contains(hosts, segments[0]+"/"+segments[1]) || len(segments[0]) == 2 && slices.Contains(seconds, segments[1])) {
		n = 3
	}
	if len(segments) < n {
		return "", false
	}
	return strings.Join(segments[:n], "/"), true
}

// domains are the first segments of names under which many projects are, besides those of countries.
var domains = []string{"com", "org", "net", "edu", "gov", "dev", "app", "info", "biz", "cloud", "tech", "software"}

// hosts are names of two segments under which many projects are.
var hosts = []string{
	"org/apache", "org/eclipse", "org/jboss", "org/codehaus", "org/springframework", "com/github", "io/github", "com/gitlab", "io/gitlab",
	"org/bitbucket", "com/google", "com/googlecode", "com/oracle", "com/ibm", "com/microsoft", "com/amazon", "net/sf", "net/sourceforge",
	"org/sourceforge",
}

// seconds are second segments below a country under which many projects are, as in uk.co.acme.
var seconds = []string{"co", "com", "org", "net", "ac", "edu", "gov"}

// IsLibrary reports whether a class belongs to the JDK or to a widely used library.
func IsLibrary(class string) bool {
	return callgraph.IsJDK(class) || callgraph.HasPrefix(class, libraries)
}

// libraries are prefixes of the internal names of classes in widely used libraries, frameworks,
// servers and agents.
var libraries = []string{
	"javax/", "jakarta/",
	// Languages.
	"kotlin/", "kotlinx/", "scala/", "groovy/", "groovyjarjar", "clojure/", "org/codehaus/groovy/", "org/jruby/", "org/python/", "lombok/",
	// Frameworks and servers.
	"org/springframework/", "org/apache/", "org/eclipse/", "org/jboss/", "org/wildfly/", "io/undertow/", "org/xnio/", "io/vertx/", "io/quarkus/",
	"io/micronaut/", "io/helidon/", "io/smallrye/", "io/dropwizard/", "org/glassfish/", "com/sun/", "weblogic/", "com/ibm/ws/", "play/", "akka/",
	"com/typesafe/", "com/vaadin/", "org/primefaces/", "org/osgi/", "org/keycloak/", "org/gradle/", "org/jetbrains/", "com/intellij/", "zio/", "cats/",
	// Network and data formats.
	"io/netty/", "reactor/", "io/projectreactor/", "io/reactivex/", "rx/", "org/reactivestreams/", "io/grpc/", "okhttp3/", "okio/", "retrofit2/", "feign/",
	"com/squareup/", "com/fasterxml/", "com/google/", "org/json/", "net/minidev/", "com/jayway/", "org/yaml/", "com/thoughtworks/xstream/", "org/dom4j/",
	"org/jdom", "nu/xom/", "com/ctc/wstx/", "org/codehaus/", "net/sf/saxon/", "com/esotericsoftware/", "org/msgpack/", "org/tukaani/",
	"org/xerial/", "net/jpountz/", "com/github/luben/", "org/jsoup/", "com/lowagie/", "com/itextpdf/", "com/opencsv/", "com/univocity/",
	// Databases, caches and messages.
	"org/h2/", "org/hsqldb/", "org/sqlite/", "org/postgresql/", "com/mysql/", "org/mariadb/", "oracle/", "com/microsoft/", "com/ibm/db2/", "org/firebirdsql/",
	"com/zaxxer/", "com/mchange/", "org/hibernate/", "org/jooq/", "org/mybatis/", "org/jdbi/", "org/flywaydb/", "liquibase/", "com/querydsl/",
	"com/mongodb/", "org/bson/", "redis/", "io/lettuce/", "org/redisson/", "com/datastax/", "org/neo4j/", "org/elasticsearch/", "org/opensearch/",
	"co/elastic/", "org/rocksdb/", "org/iq80/", "org/mapdb/", "com/hazelcast/", "org/infinispan/", "org/jgroups/", "org/ehcache/", "net/sf/ehcache/",
	"com/github/benmanes/", "com/rabbitmq/", "io/nats/", "org/zeromq/", "io/aeron/", "org/agrona/", "com/lmax/", "org/jctools/",
	// Clouds and services.
	"com/amazonaws/", "software/amazon/", "com/azure/", "com/stripe/", "io/kubernetes/", "io/fabric8/", "com/netflix/", "io/github/resilience4j/",
	// Logs, measurements and agents.
	"org/slf4j/", "ch/qos/", "org/tinylog/", "io/micrometer/", "io/prometheus/", "com/codahale/", "io/opentelemetry/", "io/opentracing/", "io/jaegertracing/",
	"brave/", "zipkin2/", "io/sentry/", "datadog/", "com/newrelic/", "com/dynatrace/", "org/glowroot/", "one/profiler/", "com/sondejvm/", "org/aspectj/",
	"org/HdrHistogram/", "org/LatencyUtils/",
	// Classes about classes.
	"net/bytebuddy/", "org/objectweb/asm/", "javassist/", "net/sf/cglib/", "org/objenesis/", "org/reflections/", "io/github/classgraph/", "aj/",
	// Other tools.
	"org/joda/", "org/threeten/", "org/quartz/", "org/bouncycastle/", "io/jsonwebtoken/", "com/nimbusds/", "com/auth0/", "org/antlr/", "antlr/", "freemarker/",
	"org/thymeleaf/", "com/github/jknack/", "gnu/trove/", "it/unimi/dsi/", "com/carrotsearch/", "org/roaringbitmap/", "org/ejml/", "org/nd4j/",
	"picocli/", "com/beust/", "org/jline/", "jline/", "org/fusesource/", "com/sun/jna/", "io/vavr/", "cn/hutool/", "com/alibaba/", "org/mapstruct/",
	"org/modelmapper/", "org/dozer/", "ma/glasnost/", "org/checkerframework/", "org/jspecify/",
	// Tests.
	"org/junit/", "junit/", "org/testng/", "org/mockito/", "org/assertj/", "org/hamcrest/", "org/opentest4j/", "org/apiguardian/", "org/spockframework/",
	"io/cucumber/", "org/openjdk/jmh/", "worker/org/gradle/",
}

// launchers are prefixes of main classes that start programs of others.
var launchers = []string{
	"org/springframework/boot/loader/", "org/apache/catalina/startup/", "org/apache/commons/daemon/", "org/eclipse/jetty/start/", "org/eclipse/jetty/runner/",
	"org/jboss/modules/", "org/jboss/forge/", "com/sun/enterprise/", "weblogic/", "com/ibm/ws/", "io/openliberty/", "io/quarkus/bootstrap/", "io/vertx/core/Launcher",
	"org/codehaus/classworlds/", "org/codehaus/plexus/classworlds/", "org/apache/maven/", "org/gradle/", "worker/org/gradle/", "com/intellij/rt/",
	"org/junit/platform/console/", "org/testng/", "org/openjdk/jmh/", "org/apache/spark/deploy/SparkSubmit", "org/apache/spark/executor/", "org/apache/hadoop/util/RunJar", "org/apache/hadoop/mapred/YarnChild", "org/apache/flink/", "scala/tools/nsc/",
	"clojure/main", "groovy/", "org/codehaus/groovy/tools/", "org/jruby/Main", "sbt/", "xsbt/", "com/simontuffs/onejar/",
}
