import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.yaml.snakeyaml.Yaml;

/** A YAML document that is read again and again. */
final class YamlRoot implements Clocked.Program {
    private static final String TEXT = IntStream.range(0, 100).mapToObj(i -> """
            - id: %d
              name: "order %d"
              amount: %d.25
              lines: [1, 2, {product: kettle, colour: 'blue'}]
            """.formatted(i, i * 7919 % 997, i)).collect(Collectors.joining());

    @Override
    public void call() {
        Yaml yaml = new Yaml();
        long began = System.nanoTime();
        yaml.load(TEXT);
        Clocked.add(began);
    }
}
