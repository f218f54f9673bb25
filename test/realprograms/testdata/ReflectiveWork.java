import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What frameworks do: beans wired by parameter names, proxies, annotations, serialization; often enough that a JVM
 * generates accessors for what is called by reflection.
 */
final class ReflectiveWork implements RealProgram.Work {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Route {
        String value();
    }

    public interface Prices {
        int price(String article, int amount);

        default String shown(String article) {
            return article + " " + price(article, 2);
        }
    }

    record Order(String name, int amount, List<String> notes) implements Serializable {
    }

    static final class Controller {
        @Route("/sell")
        public String sell(String article, int amount) {
            return article.repeat(amount);
        }

        @Route("/fail")
        public String fail(String reason) {
            throw new IllegalStateException(reason);
        }
    }

    private final Controller controller = new Controller();

    @Override
    public String round() throws Exception {
        List<String> said = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            said.addAll(routes(i));
        }
        Prices prices = (Prices) Proxy.newProxyInstance(Prices.class.getClassLoader(), new Class<?>[] {Prices.class}, (proxy, method, args) ->
                method.isDefault() ? "default " + Arrays.toString(args) : method.getName().length() + ((String) args[0]).length() * (int) args[1]);
        said.add(prices.shown("thing") + " " + prices.price("article", 7));
        said.add(copy(new Order("first", 3, List.of("a", "b"))).toString());
        said.add(Pattern.compile("(\\w+)-(\\d+)").matcher("ab-12 cd-34").results().map(m -> m.group(2) + m.group(1)).collect(Collectors.joining(",")));
        return String.join("\n", said);
    }

    private List<String> routes(int number) throws Exception {
        List<String> said = new ArrayList<>();
        Method[] methods = Controller.class.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            Object[] arguments = Arrays.stream(method.getParameters()).map(p -> argument(p, number)).toArray();
            try {
                said.add(method.getAnnotation(Route.class).value() + " " + method.invoke(controller, arguments));
            } catch (InvocationTargetException e) {
                // Without its line: a JVM forgets it where the class is redefined between the throw and this.
                said.add(e.getCause() + " at " + e.getCause().getStackTrace()[0].getMethodName());
            }
        }
        return said;
    }

    /** Where parameter names are lost, no argument is found. */
    private static Object argument(Parameter parameter, int number) {
        return switch (parameter.getName()) {
            case "article" -> "thing" + number;
            case "reason" -> "because " + number;
            case "amount" -> number % 4;
            default -> throw new IllegalArgumentException("what is " + parameter + "?");
        };
    }

    private static Object copy(Serializable original) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(original);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject();
        }
    }
}
