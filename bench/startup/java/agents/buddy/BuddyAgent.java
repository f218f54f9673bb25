import static net.bytebuddy.matcher.ElementMatchers.isBridge;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.not;

import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.instrument.Instrumentation;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.implementation.bytecode.constant.IntegerConstant;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.utility.JavaModule;
import startup.AsmHooks;

/**
 * Weaves the same methods as {@code AsmAgent}, with the same hooks, by the advice of Byte Buddy, which stands on ASM: so do the
 * agents of most products. Its argument is the same file.
 */
public final class BuddyAgent {
    /** Names of methods by classes; empty where all are meant. */
    private final Map<String, Set<String>> wanted = new HashMap<>();
    private final Map<String, Integer> ids = new HashMap<>();
    private final AtomicInteger classes = new AtomicInteger();
    private int methods;

    private BuddyAgent(String list) throws IOException {
        try (BufferedReader lines = new BufferedReader(new FileReader(list))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                wanted.put(words[0].replace('/', '.'), new HashSet<>(Arrays.asList(words).subList(2, words.length)));
                methods += Integer.parseInt(words[1]);
            }
        }
    }

    public static void premain(String argument, Instrumentation instrumentation) throws IOException {
        System.setProperty("net.bytebuddy.experimental", "true"); // it may be older than the JVM
        BuddyAgent agent = new BuddyAgent(argument);
        AsmHooks.prepare(agent.methods);
        agent.install(instrumentation);
        Runtime.getRuntime().addShutdownHook(new Thread() {
            @Override
            public void run() {
                synchronized (agent.ids) {
                    System.err.println("asm-agent " + agent.classes + " " + agent.ids.size() + " " + AsmHooks.total());
                }
            }
        });
    }

    private void install(Instrumentation instrumentation) {
        Advice advice = Advice.withCustomMapping()
                .bind(Id.class, (Advice.OffsetMapping) (type, method, assigner, arguments, sort) ->
                        new Advice.OffsetMapping.Target.ForStackManipulation(IntegerConstant.forValue(idOf(method))))
                .to(Timing.class);
        new AgentBuilder.Default(new ByteBuddy().with(TypeValidation.DISABLED).with(MethodGraph.Compiler.ForDeclaredMethods.INSTANCE).ignore(none()))
                .with(AgentBuilder.TypeStrategy.Default.DECORATE)
                .with(AgentBuilder.InitializationStrategy.NoOp.INSTANCE)
                .ignore(none())
                .with(new Account())
                .type((ElementMatcher<TypeDescription>) type -> wanted.containsKey(type.getName()))
                .transform((builder, type, loader, module, domain) -> {
                    Set<String> names = wanted.get(type.getName());
                    ElementMatcher<MethodDescription> named = method -> names.isEmpty() || names.contains(method.getName());
                    return builder.visit(advice.on(isMethod().and(not(isBridge())).and(named)));
                })
                .installOn(instrumentation);
    }

    private int idOf(MethodDescription method) {
        String name = method.getDeclaringType().getTypeName() + '.' + method.getInternalName() + method.getDescriptor();
        synchronized (ids) {
            return ids.computeIfAbsent(name, any -> ids.size());
        }
    }

    /** Stands where the number of a method is wanted. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Id {
    }

    /** What is copied into methods. */
    static final class Timing {
        private Timing() {
        }

        @Advice.OnMethodEnter
        static long enter(@Id int id) {
            return AsmHooks.enter(id);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Id int id, @Advice.Enter long began, @Advice.Thrown Throwable thrown) {
            if (thrown == null) {
                AsmHooks.exit(id, began);
            } else {
                AsmHooks.fail(id, began);
            }
        }
    }

    private final class Account extends AgentBuilder.Listener.Adapter {
        @Override
        public void onTransformation(TypeDescription type, ClassLoader loader, JavaModule module, boolean loaded, DynamicType made) {
            classes.incrementAndGet();
        }

        @Override
        public void onError(String type, ClassLoader loader, JavaModule module, boolean loaded, Throwable thrown) {
            System.err.println("asm-agent failed: " + type + ": " + thrown);
        }
    }
}
