package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// generated are programs too long to be written by hand: each function returns
// the members of a class of that name.
var generated = map[string]func() string{
	"LongJumps":  longJumps,
	"HugeSwitch": hugeSwitch,
	"ManyLocals": manyLocals,
	"TooLarge":   tooLarge,
}

// generate writes the sources of the generated programs and returns their paths.
func generate(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, members := range generated {
		path := filepath.Join(dir, name+".java")
		text := fmt.Sprintf("public final class %s {\n%s}\n", name, members())
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// longJumps has loops whose jumps just fit into 16 bits: each of their returns
// grows when woven, so that they fit no more. A line takes 11 bytes. In the
// third method javac itself needs wide jumps; every other line there returns
// nothing, or it would be too large when woven.
func longJumps() string {
	var b strings.Builder
	for _, method := range []struct {
		name        string
		lines       int
		returnEvery int
	}{{"fits", 2900, 1}, {"justFits", 2970, 1}, {"needsWideJumps", 3150, 2}} {
		fmt.Fprintf(&b, "static int %s(int x) {\n  for (;;) {\n", method.name)
		for i := range method.lines {
			then := fmt.Sprintf("return %d", 2000+i)
			if i%method.returnEvery != 0 {
				then = "x += 3"
			}
			fmt.Fprintf(&b, "    if (x == %d) %s;\n", 1000+i, then)
		}
		b.WriteString("    x += 500;\n  }\n}\n")
	}
	// A condition that jumps over everything, an exception block around it, and locals of every kind alive.
	b.WriteString("static long over(int x, long wide) {\n  double d = 0.5;\n  try {\n    if (x > 3) {\n")
	for i := range 2600 {
		fmt.Fprintf(&b, "      if (x == %d) return wide;\n", 1000+i)
	}
	b.WriteString("    } else { wide = 10 / x; }\n    d += wide;\n  } catch (ArithmeticException e) {\n    return -7L;\n  }\n  return (long) (d * 2);\n}\n")
	b.WriteString("public static void main(String[] args) {\n")
	for _, call := range []string{
		"fits(1000)", "fits(3899)", "fits(2)", "justFits(1001)", "justFits(3969)", "justFits(-3)",
		"needsWideJumps(1002)", "needsWideJumps(4148)", "needsWideJumps(7)",
		"over(1500, 1L << 40)", "over(9, 5L)", "over(2, 5L)", "over(0, 5L)",
	} {
		fmt.Fprintf(&b, "  System.out.println(%s);\n", call)
	}
	b.WriteString("}\n")
	return b.String()
}

// hugeSwitch has a dense and a sparse switch of 1,500 cases, each returning.
func hugeSwitch() string {
	var b strings.Builder
	b.WriteString("static String dense(int n) {\n  switch (n) {\n")
	for i := range 1500 {
		fmt.Fprintf(&b, "    case %d: return \"d%d\";\n", i, i%97)
	}
	b.WriteString("    default: return \"none\";\n  }\n}\nstatic double sparse(int n) {\n  double sum = 0;\n  while (true) {\n    switch (n) {\n")
	for i := range 1500 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "      case %d: return sum + %d;\n", i*1009, i)
		case 1:
			fmt.Fprintf(&b, "      case %d: sum += 1; n = %d; continue;\n", i*1009, (i-1)*1009)
		default:
			fmt.Fprintf(&b, "      case %d: sum += 2; n = %d; break;\n", i*1009, (i-1)*1009)
		}
	}
	b.WriteString("      default: return -1;\n    }\n  }\n}\n")
	b.WriteString(`public static void main(String[] args) {
  StringBuilder all = new StringBuilder();
  for (int i = -1; i <= 1500; i += 7) all.append(dense(i));
  System.out.println(all.length() + " " + all.toString().hashCode());
  double sum = 0;
  for (int i = -1; i <= 1500; i++) sum += sparse(i * 1009);
  System.out.println(sum);
}
`)
	return b.String()
}

// manyLocals has more variables than one byte can number, alive across
// branches and an exception block.
func manyLocals() string {
	const count = 400
	var b strings.Builder
	b.WriteString("static String all(int seed, long wide) {\n")
	for i := range count {
		kind := []string{"int", "long", "double", "String"}[i%4]
		value := []string{fmt.Sprintf("seed + %d", i), fmt.Sprintf("wide * %d", i), fmt.Sprintf("seed / %d.0", i+1), fmt.Sprintf("\"s\" + (seed %% %d)", i+1)}[i%4]
		fmt.Fprintf(&b, "  %s v%d = %s;\n", kind, i, value)
	}
	b.WriteString("  for (int round = 0; round < 3; round++) {\n    try {\n")
	for i := 0; i < count; i += 4 {
		fmt.Fprintf(&b, "      v%d++; v%d += v%d; v%d -= round;\n", i, i+1, i, i+2)
	}
	fmt.Fprintf(&b, "      if (v%d / (round - 1) > 1000000) return \"early\";\n    } catch (ArithmeticException e) {\n      v3 += e.getMessage();\n    }\n  }\n", count-4)
	b.WriteString("  StringBuilder out = new StringBuilder();\n")
	for i := range count {
		fmt.Fprintf(&b, "  out.append(v%d).append(',');\n", i)
	}
	b.WriteString("  return out.toString();\n}\npublic static void main(String[] args) {\n  System.out.println(all(5, 1L << 33));\n  System.out.println(all(99999999, -1).hashCode());\n}\n")
	return b.String()
}

// tooLarge has a method near the limit of 64 KiB, which cannot be woven and
// must be left alone, beside others that can.
func tooLarge() string {
	var b strings.Builder
	b.WriteString("static int nearlyFull(int x) {\n")
	for i := range 5900 {
		fmt.Fprintf(&b, "  if (x == %d) return %d;\n", 1000+i, 2000+i)
	}
	b.WriteString("  return small(x);\n}\nstatic int small(int x) { return -x; }\n")
	b.WriteString("public static void main(String[] args) {\n  System.out.println(nearlyFull(1000) + \" \" + nearlyFull(6899) + \" \" + nearlyFull(1));\n}\n")
	return b.String()
}
