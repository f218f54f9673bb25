package process

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNumbers(t *testing.T) {
	for status, want := range map[string][]int{
		"Name:\tx\n":                  {7},
		"Name:\tx\nNSpid:\t7\t3\t1\n": {7, 3, 1},
		"NSpid:\t7\n":                 {7},
	} {
		if got, err := parseStatus("Uid:\t1\t1\nGid:\t1\t1\n"+status, 7); err != nil || !slices.Equal(got.numbers, want) {
			t.Errorf("%q: %v, %v", status, got.numbers, err)
		}
	}
}

func TestProcesses(t *testing.T) {
	all, err := Local.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p Process) bool { return p.PID == os.Getpid() })
	if i < 0 || all[i].UID != uint32(os.Geteuid()) || all[i].Mounts == "" || !slices.Contains(all[i].Numbers, os.Getpid()) || len(all[i].Arenas) > 0 {
		t.Errorf("this test is not among %d as it should be", len(all))
	}
}

func TestNames(t *testing.T) {
	if !IsArena("/x/"+ArenaName(1, "0123456789abcdef")) || IsArena("sonde-1-x.arena") || IsArena("sonde-1-0123456789abcdef.arena2") {
		t.Error("arenas are not recognised by their names")
	}
	for text, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef\n": true, "0123456789abcdef0123456789abcdef": true,
		"0123456789abcdef0123456789abcde": false, "0123456789ABCDEF0123456789abcdef": false, "": false,
		"0123456789abcdef0123456789abcdef\n\n": false,
	} {
		if ticket, ok := ParseTicket([]byte(text)); ok != want || ok && len(ticket) != 32 {
			t.Errorf("%q: %q, %v", text, ticket, ok)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		text              string
		options, argument []string
	}{
		{"", nil, nil},
		{" -a\t-b\n", []string{"-a", "-b"}, []string{"-a", "-b"}},
		{`-Dx="a b" ''`, []string{"-Dx=a b", ""}, []string{"-Dx=a b", ""}},
		{`"a\tb"`, []string{`a\tb`}, []string{"a\tb"}},
		{`"C:\\x" \y`, []string{`C:\\x`, `\y`}, []string{`C:\x`, `\y`}},
		{"-a # no\n-b#c", []string{"-a", "#", "no", "-b#c"}, []string{"-a", "-b#c"}},
		{"\"one\\\n   two\"", []string{"one\\\n   two"}, []string{"onetwo"}},
		{`"open`, []string{"open"}, []string{"open"}},
		{`"a\`, []string{`a\`}, []string{`a\`}},
	} {
		if got := splitOptions(tt.text); !slices.Equal(got, tt.options) {
			t.Errorf("options %q: %q, want %q", tt.text, got, tt.options)
		}
		if _, raw := SplitOptions(tt.text); !slices.Equal(splitOptions(strings.Join(raw, " ")), tt.options) {
			t.Errorf("options %q: in quotes %q", tt.text, raw)
		}
		if got := splitArguments(tt.text); !slices.Equal(got, tt.argument) {
			t.Errorf("argument file %q: %q, want %q", tt.text, got, tt.argument)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("-a 'b c' \"d\\\n e\" # f")
	f.Fuzz(func(t *testing.T, text string) {
		for _, words := range [][]string{splitOptions(text), splitArguments(text)} {
			if size := len(strings.Join(words, "")); size > len(text) {
				t.Fatalf("%d bytes of words out of %d", size, len(text))
			}
		}
	})
}

func TestCollect(t *testing.T) {
	files := map[string]string{
		"/args":   "-XX:+DisableAttachMechanism\n-cp 'a b' com.acme.Main",
		"vm.opts": "-Xrs -XX:VMOptionsFile=loop",
		"loop":    "-XX:VMOptionsFile=loop",
	}
	for _, tt := range []struct {
		command  string
		env      map[string]string
		main     string
		words    string
		complete bool
	}{
		{"java -Xmx1g -cp x:y com.acme.Main -jar z", nil, "com.acme.Main", "-Xmx1g", true},
		{"java -jar a.jar @none", nil, "a.jar", "", true},
		{"java --module-path m -m mod/cls", nil, "mod/cls", "", true},
		{"java --module=mod", nil, "mod", "", true},
		{"java @/args x", nil, "com.acme.Main", "-XX:+DisableAttachMechanism", true},
		{"java @/none Main", nil, "Main", "", false},
		{"java --disable-@files @/args", nil, "@/args", "", true},
		{"java @@x", nil, "@x", "", true},
		{"java -cp @/args", nil, "com.acme.Main", "", true},
		{"java -XX:Flags=x M", nil, "M", "-XX:Flags=x", false},
		{
			"java -c M", map[string]string{"JAVA_TOOL_OPTIONS": "-a", "JDK_JAVA_OPTIONS": "-b", "_JAVA_OPTIONS": "-d"},
			"M", "-a -b -c -d", true,
		},
		{
			"java -XX:VMOptionsFile=vm.opts M", nil,
			"M", "-XX:VMOptionsFile=vm.opts -Xrs" + strings.Repeat(" -XX:VMOptionsFile=loop", deepest), false,
		},
	} {
		o := collect(sources{
			command: strings.Fields(tt.command), launcher: true, environment: tt.env, environOK: true,
			readFile: func(name string) ([]byte, error) {
				if text, ok := files[name]; ok {
					return []byte(text), nil
				}
				return nil, errors.New("none")
			},
		})
		if o.main != tt.main || strings.Join(o.words, " ") != tt.words || o.complete != tt.complete {
			t.Errorf("%s: main %q, options %q, complete %v", tt.command, o.main, o.words, o.complete)
		}
	}
}

// TestFilesThatNameThemselves take a bounded time.
func TestFilesThatNameThemselves(t *testing.T) {
	for _, command := range []string{"java -XX:VMOptionsFile=f M", "java" + strings.Repeat(" @f", 10_000) + " M"} {
		reads := 0
		o := collect(sources{command: strings.Fields(command), launcher: true, environOK: true, readFile: func(string) ([]byte, error) {
			if reads++; reads > 100 {
				t.Fatalf("%.40s: files are read without end", command)
			}
			return []byte(strings.Repeat("-XX:VMOptionsFile=f ", 50_000)), nil
		}})
		if o.complete || reads > mostFiles || len(o.words) > 2*mostWords {
			t.Errorf("%.40s: %d files, %d words, complete %t", command, reads, len(o.words), o.complete)
		}
	}
}

func TestSecurityManagers(t *testing.T) {
	for words, want := range map[string]bool{
		"": false, "-Djava.security.manager": true, "-Djava.security.manager=": true, "-Djava.security.manager=default": true, "-Djava.security.manager=x.Y": true,
		"-Djava.security.manager=allow": false, "-Djava.security.manager=disallow": false, "-Djava.security.managers": false,
		"-Djava.security.manager -Djava.security.manager=allow": false,
	} {
		if got := installsSecurityManager(strings.Fields(words)); got != want {
			t.Errorf("%q: %t, want %t", words, got, want)
		}
	}
}

func TestClassPath(t *testing.T) {
	for command, want := range map[string]string{
		"java -cp x:y Main -cp z": "x:y", "java -classpath x -cp y Main": "y", "java --class-path x Main": "x", "java --class-path=x:y Main": "x:y",
		"java -cp x -jar a.jar": "a.jar", "java Main": "env", "java -cp": "env",
	} {
		got := collect(sources{command: strings.Fields(command), launcher: true, environment: map[string]string{"CLASSPATH": "env"}}).classPath
		if got != want {
			t.Errorf("%s: class path %q, want %q", command, got, want)
		}
	}
	j := &JVM{options: []string{"-Da=1", "-Dab=2", "-Da=3"}}
	if got := j.Property("a") + j.Property("ab") + j.Property("b"); got != "32" {
		t.Errorf("properties %q, want 32", got)
	}
}

func TestFlagsLastWins(t *testing.T) {
	words := []string{"-XX:+A", "-XX:-A", "-XX:+B", "-XX:+ReduceSignalUsage"}
	if flag(words, "A", true) || !flag(words, "B", false) || !flag(words, "C", true) || !reducesSignals(words) {
		t.Error("wrong values")
	}
}

func TestMaps(t *testing.T) {
	m := parseMaps(`7f0-7f1 r--p 00000000 fe:00 1    /opt/my jdk/lib/server/libjvm.so
7f1-7f2 r-xp 00000000 fe:00 1    /opt/my jdk/lib/server/libjvm.so (deleted)
7f3-7f4 rw-s 00000000 fe:00 2    /jail/tmp/hsperfdata_me/12
7f5-7f6 rw-p 00000000 00:00 0    [heap]
7f6-7f7 rw-s 00000000 00:15 5    /dev/shm/sonde-12-0123456789abcdef.arena
7f7-7f8 rw-s 00001000 00:15 5    /dev/shm/sonde-12-0123456789abcdef.arena (deleted)
7f8-7f9 rw-p 00000000 00:15 6    /dev/shm/sonde-13-0123456789abcdef.arena
7f9-7fa rw-s 00000000 00:15 7    /dev/shm/sonde-13-0123456789abcdef.arena.old
7fa-7fb rw-s 00000000 00:15 8    /tmp/sonde-12-0123456789abcdef0123456789.arena
broken/
`, "/")
	want := mapped{
		libjvm: "/opt/my jdk/lib/server/libjvm.so", counters: "/tmp/hsperfdata_me/12",
		arenas: []string{"/dev/shm/sonde-12-0123456789abcdef.arena", "/tmp/sonde-12-0123456789abcdef0123456789.arena"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v", m)
	}
	for text, want := range map[string]string{
		"7f02-7f03 rw-s 0 fe:00 12   /var/lib/layers/9/tmp/hsperfdata_app/1\n": "/tmp/hsperfdata_app/1",
		"7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/17 (deleted)\n":       "/tmp/hsperfdata_app/17",
		"7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/17":                   "/tmp/hsperfdata_app/17",
		"7f02-7f03 rw-p 0 fe:00 12   /tmp/hsperfdata_app/17\n":                 "",
		"7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/x\n":                  "",
		"7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/../17\n":              "",
	} {
		if got := parseMaps(text, "/").counters; got != want {
			t.Errorf("%q: counters at %q, want %q", text, got, want)
		}
	}
	m = parseMaps("7f0-7f1 r--p 00000000 fe:00 1    /x/libjvm.so\n7f0-7f1 r-xp 0 fe:00 1 /x/libj9vm29.so", "/")
	if !reflect.DeepEqual(m, mapped{openJ9: true}) {
		t.Errorf("%+v", m)
	}
	m = parseMaps("7f1-7f2 r-xp 0 fe:00 1    /jail/jdk/lib/server/libjvm.so\n7f1-7f2 rw-s 0 fe:00 2    /jailed/sonde-12-0123456789abcdef.arena", "/jail")
	if want := (mapped{libjvm: "/jdk/lib/server/libjvm.so", arenas: []string{"/jailed/sonde-12-0123456789abcdef.arena"}}); !reflect.DeepEqual(m, want) {
		t.Errorf("in a chroot: got %+v, want %+v", m, want)
	}
}

func TestImageOf(t *testing.T) {
	for library, want := range map[string]string{
		"/opt/jdk/lib/server/libjvm.so":            "/opt/jdk/lib/modules",
		"/opt/jdk8/jre/lib/amd64/server/libjvm.so": "/opt/jdk8/jre/lib/rt.jar",
	} {
		if got := imageOf(library); got != want {
			t.Errorf("%s: got %s, want %s", library, got, want)
		}
	}
}

func TestMappedFiles(t *testing.T) {
	h := Host{Proc: t.TempDir()}
	if err := os.Mkdir(filepath.Dir(h.Path(7, "maps")), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = "7f00-7f01 r-xp 0 fe:00 3    /b.so\n7f01-7f02 rw-p 0 0 0\n7f02-7f03 r--p 0 fe:00 3   /a b.jar (deleted)\n7f00-7f01 r-xp 0 fe:00 3    /b.so\n"
	if err := os.WriteFile(h.Path(7, "maps"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if files := h.MappedFiles(7); !slices.Equal(files, []string{"/a b.jar", "/b.so"}) {
		t.Errorf("%q", files)
	}
}

func TestSchedstat(t *testing.T) {
	run, wait, err := parseSchedstat("12 34 56\n")
	if run != 12 || wait != 34 || err != nil {
		t.Errorf("%d, %d, %v", run, wait, err)
	}
	for _, bad := range []string{"", "12", "x 1 2", "1 -2 3", "99999999999999999999 1 1"} {
		if run, wait, err := parseSchedstat(bad); err == nil {
			t.Errorf("%q: %d, %d", bad, run, wait)
		}
	}
}

func TestStatus(t *testing.T) {
	s, err := parseStatus("Name:\tjava\nState:\tT (stopped)\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t10 11\nNSpid:\t9\t1\nSigCgt:\t0000000000000004\n", 9)
	if err != nil || s.uid != 2 || s.gid != 6 || !slices.Equal(s.groups, []uint32{10, 11}) || s.innermost() != 1 || !s.catchesQuit() || !s.stopped {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "Uid:\t1\tx\n", "Uid:\t1\t2\nGid:\t1\t-1\n", "Uid:\t1\t2\nGid:\t1\t1\nGroups:\tx\n"} {
		if _, err := parseStatus(bad, 9); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	stat, err := parseStat([]byte("1 (a ) b) Z" + strings.Repeat(" 7", 18) + " 4711 0"))
	if want := (Stat{Command: "a ) b", Ended: true, CPU: 14 * Tick, Start: 4711}); err != nil || stat != want {
		t.Errorf("%+v, %v, want %+v", stat, err, want)
	}
	const line = "4715 (C2 Compiler) 1 () S 1 4711 4711 0 -1 1077936384 100 0 0 0 99 99 0 0 20 0 5 0 9002 4000000000"
	stat, err = parseStat([]byte(line))
	if want := (Stat{Command: "C2 Compiler) 1 (", Sleeps: true, CPU: 198 * Tick, Start: 9002}); err != nil || stat != want {
		t.Errorf("%+v, %v, want %+v", stat, err, want)
	}
	for _, bad := range []string{
		"", "1", "1 (java", ")(", "1 (java) S 1 2 3",
		strings.Replace(line, " 99 99 ", " 99 x ", 1),
		strings.Replace(line, " 99 99 ", " -1 99 ", 1),
		strings.Replace(line, " 9002 ", " x ", 1),
	} {
		if stat, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, stat)
		}
	}
}

func TestRelease(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name == "/opt/jdk8/release" {
			return []byte("JAVA_VERSION=\"1.8.0_402\"\nIMPLEMENTOR=\"Acme\"\nJVM_VARIANT=\"Openj9\"\nMODULES=\"java.base java.instrument\"\n"), nil
		}
		return nil, errors.New("none")
	}
	want := release{"1.8.0_402", "Acme", "Openj9", []string{"java.base", "java.instrument"}}
	if r := readRelease(read, "/opt/jdk8/jre/lib/amd64/server/libjvm.so"); !reflect.DeepEqual(r, want) {
		t.Errorf("%+v", r)
	}
	if r := readRelease(read, "libjvm.so"); !reflect.DeepEqual(r, release{}) {
		t.Errorf("%+v", r)
	}
}

func TestSearch(t *testing.T) {
	const text = "AlwaysRecord"
	for _, before := range []int{0, 1, 1<<20 - 5, 1 << 20, 1<<20 + 7, 3 << 20} {
		padding := strings.Repeat("A", before)
		for most, want := range map[int]string{0: "", 1: "B", 3: "BCD", 5: "BCD"} {
			if after, found, err := search(strings.NewReader(padding+text+"BCD"), text, most); after != want || !found || err != nil {
				t.Errorf("after %d bytes: got %q, %v, %v; want %q, true", before, after, found, err, want)
			}
		}
		if _, found, err := search(strings.NewReader(padding+text[1:]), "B"+text, 3); found || err != nil {
			t.Errorf("none after %d bytes: %v, %v", before, found, err)
		}
	}
	if _, _, err := search(iotest.ErrReader(os.ErrPermission), text, 0); err == nil {
		t.Error("no error")
	}
}

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"1.8.0_504-8u504-ga-1-b01), built on Aug 20": "1.8.0_504",
		"11.0.33-ea+8-post-1-Debian), built on":      "11.0.33-ea",
		"21.0.13.0.3+1-1-Debian)":                    "21.0.13.0.3",
		"17.0.15":                                    "",
		"1.8\x1b[2J)":                                "",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzProc reads any text as what the kernel, a JVM and its agent write about a process.
func FuzzProc(f *testing.F) {
	f.Add("7f19996e3000-7f199a76f000 r-xp 002e3000 fe:00 315638    /r/opt/jdk/lib/server/libjvm.so\n"+
		"7f1999000000-7f1999008000 rw-s 00000000 fe:00 7 /tmp/hsperfdata_u/12\n7f1999000000-7f1999008000 rw-s 00000000 fe:00 8 /dev/shm/sonde-12-0123456789abcdef.arena (deleted)\n", "/r")
	f.Add("State:\tS (sleeping)\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\t4 5\nNSpid:\t77\t1\nSigCgt:\t0000000000000004\n", "")
	f.Add("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 200 13 14 15 16 17 18 4711 20\n", "")
	f.Add("12345 678 9\n", "")
	f.Add("JAVA_VERSION=\"17.0.1\"\nIMPLEMENTOR=\"x\"\nJVM_VARIANT=\"Hotspot\"\nMODULES=\"a b\"\n", "")
	f.Add("/dev/shm/x.arena\n/x.pack\n", "")
	f.Add("\n/x.pack\nwhy\n", "")
	f.Fuzz(func(t *testing.T, text, root string) {
		m := parseMaps(text, root)
		if size := len(m.libjvm) + len(m.counters) + len(strings.Join(m.arenas, "")); size > len(text)+len("/tmp/") {
			t.Errorf("%d bytes of names in %d: %+v", size, len(text), m)
		}
		for part := range mappings(text, root) {
			if !strings.HasPrefix(part.file, "/") {
				t.Errorf("a mapped file %q", part.file)
			}
		}
		if s, err := parseStatus(text, 7); err == nil && (len(s.numbers) == 0 || len(s.groups) > len(text)) {
			t.Errorf("status %+v", s)
		}
		if s, err := parseStat([]byte(text)); err == nil && (s.CPU < 0 || len(s.Command) > len(text)) {
			t.Errorf("stat %+v", s)
		}
		if run, wait, err := parseSchedstat(text); err == nil && (run < 0 || wait < 0) {
			t.Errorf("ran %v, waited %v", run, wait)
		}
		parseRelease(text)
		if p, ok := ParsePackNotice([]byte(text)); ok && (p.Arena == "") != (p.Problem != "") {
			t.Errorf("a pack %+v", p)
		}
		if ticket, ok := ParseTicket([]byte(text)); ok && len(ticket) != 32 {
			t.Errorf("a ticket %q", ticket)
		}
	})
}

func TestAccess(t *testing.T) {
	alice, root := &JVM{UID: 1000, User: "alice"}, &JVM{User: "root"}
	for _, test := range []struct {
		jvm  *JVM
		user int
		want string
	}{
		{alice, 1001, "be alice or root"},
		{root, 1001, "be root"},
		{alice, 0, "root lacks rights here: give Sonde the capability SYS_PTRACE, and for JVMs of other users SETUID, SETGID and KILL"},
	} {
		if got := test.jvm.AccessFor(test.user); got != test.want {
			t.Errorf("a JVM of %s, for user %d: got %q, want %q", test.jvm.User, test.user, got, test.want)
		}
	}
}
