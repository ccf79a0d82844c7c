import com.standardwebhooks.Webhook;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/**
 * Takes Ratchet's webhooks: verifies each, acts once for each id, and answers. The library is
 * com.standardwebhooks:standardwebhooks:1.1.0 of Maven Central.
 *
 * <pre>WEBHOOK_SECRET=whsec_... java -cp standardwebhooks-1.1.0.jar Receiver.java 9000 done.txt</pre>
 */
public final class Receiver {
  private static final Set<String> ids = new HashSet<>();

  // One line for each message that was acted on: its id, a space and its body. A shop stores the id
  // in the transaction of its effect instead.
  private static FileChannel done;

  public static void main(String[] args) throws Exception {
    var hook = new Webhook(System.getenv("WEBHOOK_SECRET"));
    var file = Path.of(args[1]);

    if (Files.exists(file)) {
      for (var line : Files.readAllLines(file)) {
        ids.add(line.split(" ", 2)[0]);
      }
    }
    done = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);

    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
    server.createContext("/", exchange -> {
      try (exchange) {
        exchange.sendResponseHeaders(answer(hook, exchange), -1);
      }
    });
    server.start();
  }

  private static int answer(Webhook hook, HttpExchange exchange) throws IOException {
    var bytes = exchange.getRequestBody().readNBytes((256 << 10) + 1);
    if (bytes.length > 256 << 10) {
      return 413;
    }

    // The raw text: parse it only once it is verified. The library knows the headers in lower case.
    var body = new String(bytes, StandardCharsets.UTF_8);
    var headers = new HashMap<String, java.util.List<String>>();
    exchange.getRequestHeaders().forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values));

    try {
      hook.verify(body, headers);
    } catch (Exception e) {
      return 401;
    }
    actOnce(exchange.getRequestHeaders().getFirst("Webhook-Id"), body);

    return 204;
  }

  private static synchronized void actOnce(String id, String body) throws IOException {
    if (ids.contains(id)) {
      return;
    }

    done.write(ByteBuffer.wrap((id + " " + body + "\n").getBytes(StandardCharsets.UTF_8)));
    done.force(true); // before the answer: the sender does not send it again
    ids.add(id);
  }
}
