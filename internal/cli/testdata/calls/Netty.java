package calls;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpContentCompressor;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A server of Netty, and a client that is none of a library. A line "work N" does everything N times, one after the other. */
public final class Netty {
    private Netty() {
    }

    /** Answers requests whose parts Netty has put together; fails for some. */
    private static final class Shop extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            boolean isBroken = request.uri().startsWith("/broken");
            DefaultFullHttpResponse answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
                    isBroken ? HttpResponseStatus.INTERNAL_SERVER_ERROR : HttpResponseStatus.OK, Unpooled.EMPTY_BUFFER);
            answer.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
            context.writeAndFlush(answer);
            if (isBroken) {
                throw new IllegalStateException("as it should");
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        ServerBootstrap server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpContentCompressor(), new HttpObjectAggregator(1 << 16), new Shop());
                    }
                });
        int port = ((InetSocketAddress) server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel().localAddress()).getPort();
        ask(port, "GET /first", ""); // loads its classes
        System.out.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            int rounds = Integer.parseInt(line.split(" ")[1]);
            for (int i = 0; i < rounds; i++) {
                ask(port, "GET /orders/" + i + "?token=hunter2", "");
                ask(port, "POST /orders", "hunter2");
                ask(port, "GET /broken", "");
            }
            group.submit(() -> { }).sync(); // its one thread has ended the last request, which it answers before
            System.out.println("did " + rounds);
        }
        group.shutdownGracefully();
        System.exit(0);
    }

    /** Sends the head of a request, then its body, and reads the answer to its end. */
    private static void ask(int port, String what, String body) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write((what + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: hunter2\r\nConnection: close\r\nContent-Length: " + body.length() + "\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            socket.getOutputStream().write(body.getBytes(StandardCharsets.US_ASCII));
            BufferedReader answer = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            String line = answer.readLine();
            if (line == null) {
                throw new IOException("no answer");
            }
            while (line != null && !line.isEmpty()) {
                line = answer.readLine();
            }
        }
    }
}
