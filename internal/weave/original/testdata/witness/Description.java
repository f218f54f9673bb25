import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericDeclaration;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.TreeSet;
import java.util.concurrent.Callable;

/** What reflection sees of a class, one fact a line. */
final class Description {
    private final TreeSet<String> facts = new TreeSet<>();

    static TreeSet<String> of(Class<?> c) {
        Description d = new Description();
        d.classFacts(c);
        return d.facts;
    }

    private void fact(String what, Callable<Object> value) {
        String text;
        try {
            Object v = value.call();
            text = v instanceof Object[] ? Arrays.deepToString((Object[]) v) : String.valueOf(v);
        } catch (Throwable e) {
            text = "throws " + e;
        }
        facts.add((what + " = " + text).replace('\n', ' '));
    }

    private void classFacts(Class<?> c) {
        fact("modifiers", () -> c.getModifiers());
        fact("generic string", () -> c.toGenericString());
        fact("superclass", () -> c.getGenericSuperclass());
        fact("interfaces", () -> c.getGenericInterfaces());
        fact("annotated superclass", () -> type(c.getAnnotatedSuperclass()));
        fact("annotated interfaces", () -> types(c.getAnnotatedInterfaces()));
        fact("simple name", () -> c.getSimpleName());
        fact("anonymous, local, member", () -> c.isAnonymousClass() + " " + c.isLocalClass() + " " + c.isMemberClass());
        fact("enclosing class", () -> c.getEnclosingClass());
        fact("enclosing method", () -> c.getEnclosingMethod());
        fact("enclosing constructor", () -> c.getEnclosingConstructor());
        fact("declaring class", () -> c.getDeclaringClass());
        fact("declared classes", () -> sorted(c.getDeclaredClasses()));
        fact("nest host", () -> c.getNestHost());
        fact("nest members", () -> sorted(c.getNestMembers()));
        fact("permitted subclasses", () -> c.getPermittedSubclasses());
        fact("record", () -> c.isRecord());
        annotated("class", c);
        parameters("class", c);
        fact("answer", () -> answer(c));
        fact("record components", () -> count(c.getRecordComponents()));
        try {
            if (c.isRecord()) {
                for (RecordComponent r : c.getRecordComponents()) {
                    component(r);
                }
            }
            for (Field f : c.getDeclaredFields()) {
                fact("field " + f, () -> f.toGenericString());
                fact("field type " + f, () -> type(f.getAnnotatedType()));
                annotated("field " + f, f);
            }
            for (Method m : c.getDeclaredMethods()) {
                executable(m);
                fact("default value " + m, () -> new Object[] {m.getDefaultValue()});
            }
            for (Constructor<?> k : c.getDeclaredConstructors()) {
                executable(k);
            }
        } catch (Throwable e) {
            facts.add("members throw " + e);
        }
    }

    private void component(RecordComponent r) {
        fact("component " + r, () -> r.getGenericType());
        fact("component signature " + r, () -> r.getGenericSignature());
        fact("component type " + r, () -> type(r.getAnnotatedType()));
        fact("component accessor " + r, () -> r.getAccessor());
        annotated("component " + r, r);
    }

    private void executable(Executable e) {
        fact("method " + e, () -> e.toGenericString());
        fact("method modifiers " + e, () -> e.getModifiers() + " " + e.isSynthetic() + " " + e.isVarArgs());
        fact("method type " + e, () -> type(e.getAnnotatedReturnType()));
        fact("method receiver " + e, () -> type(e.getAnnotatedReceiverType()));
        fact("method exceptions " + e, () -> types(e.getAnnotatedExceptionTypes()));
        fact("method generic parameters " + e, () -> e.getGenericParameterTypes());
        fact("method annotated parameters " + e, () -> types(e.getAnnotatedParameterTypes()));
        fact("method parameter annotations " + e, () -> e.getParameterAnnotations());
        annotated("method " + e, e);
        parameters("method " + e, e);
        int i = 0;
        try {
            for (Parameter p : e.getParameters()) {
                fact("parameter " + i++ + " of " + e, () -> p.isNamePresent() + " " + p + " " + p.getModifiers());
            }
        } catch (Throwable t) {
            facts.add("parameters of " + e + " throw " + t);
        }
    }

    private void annotated(String what, AnnotatedElement e) {
        fact("annotations of " + what, () -> e.getDeclaredAnnotations());
    }

    private void parameters(String what, GenericDeclaration d) {
        for (TypeVariable<?> v : d.getTypeParameters()) {
            fact("type parameter " + v + " of " + what, () -> types(v.getAnnotatedBounds()));
            annotated("type parameter " + v + " of " + what, v);
        }
    }

    /** What the class's static method text() answers: which body really runs. */
    private static Object answer(Class<?> c) throws Exception {
        for (Method m : c.getDeclaredMethods()) {
            if (m.getName().equals("text") && Modifier.isStatic(m.getModifiers()) && m.getParameterCount() == 0) {
                m.setAccessible(true);
                try {
                    return m.invoke(null);
                } catch (InvocationTargetException e) {
                    return e.getCause();
                }
            }
        }
        return "none";
    }

    private static Object count(Object[] list) {
        return list == null ? "none" : list.length;
    }

    private static String type(AnnotatedType t) {
        return String.valueOf(t);
    }

    private static Object types(AnnotatedType[] list) {
        return Arrays.toString(list);
    }

    private static Object sorted(Class<?>[] list) {
        return new TreeSet<>(Arrays.stream(list).map(Class::getName).toList());
    }
}
