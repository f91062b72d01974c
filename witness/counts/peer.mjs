// A client or a server of Node.js, whose TLS is OpenSSL, that counts the bytes that its socket read and wrote.
import fs from "node:fs";
import net from "node:net";
import stream from "node:stream";
import tls from "node:tls";

// OpenSSL's names.
const GROUPS = { x25519: "X25519", p256: "P-256", p384: "P-384", x25519mlkem768: "X25519MLKEM768", mlkem768: "MLKEM768", mlkem1024: "MLKEM1024" };

const options = (version, groups) => ({
  minVersion: `TLSv${version}`, maxVersion: `TLSv${version}`,
  ecdhCurve: groups.split(",").map((name) => GROUPS[name]).join(":"), ALPNProtocols: ["http/1.1"],
});

// What TLS reads and writes in place of its socket: it counts, and keeps what is written first.
class Counted extends stream.Duplex {
  constructor(socket) {
    super();
    Object.assign(this, { socket, bytesIn: 0, bytesOut: 0, first: null });
    socket.on("data", (bytes) => { this.bytesIn += bytes.length; this.push(bytes); });
    socket.on("end", () => this.push(null));
    socket.on("error", () => {});
  }
  _read() {}
  _write(bytes, _, done) {
    this.first ??= Buffer.from(bytes);
    this.bytesOut += bytes.length;
    this.socket.write(bytes, done);
  }
  _final(done) { this.socket.end(done); }
}

const said = (counted) => console.log("bytes", counted.bytesIn, counted.bytesOut);

// CHAIN KEY VERSION GROUP,... [CA]: one connection, one request; with CA the client must have a certificate.
function serve([chain, key, version, groups, ca]) {
  const own = { ...options(version, groups), cert: fs.readFileSync(chain), key: fs.readFileSync(key) };
  if (ca) own.ca = fs.readFileSync(ca);
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    server.close();
    const counted = new Counted(socket);
    const secure = new tls.TLSSocket(counted, {
      ...own, isServer: true, secureContext: tls.createSecureContext(own), requestCert: Boolean(ca), rejectUnauthorized: false,
    });
    secure.once("data", () => secure.write("HTTP/1.1 204 No Content\r\n\r\n"));
    secure.on("data", () => {});
    secure.on("end", () => secure.end());
    secure.on("error", (error) => { console.error(error); process.exitCode = 1; });
    socket.on("close", () => said(counted));
  });
  server.listen(0, "127.0.0.1", () => console.log("port", server.address().port));
}

// PORT VERSION GROUP,... CA: one request.
function connect([port, version, groups, ca]) {
  const socket = net.connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true }, () => {
    const counted = new Counted(socket);
    const own = { ...options(version, groups), ca: fs.readFileSync(ca), servername: "localhost" };
    const secure = tls.connect({ socket: counted, ...own }, () => {
      secure.write("GET /.well-known/core HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    secure.on("data", () => {});
    secure.on("end", () => secure.end());
    secure.on("error", (error) => { console.error(error); process.exitCode = 1; });
    const { localPort } = socket;
    socket.on("close", () => {
      said(counted);
      console.log("port", localPort);
      console.log("first", counted.first.toString("hex"));
    });
  });
}

({ serve, connect })[process.argv[2]](process.argv.slice(3));
