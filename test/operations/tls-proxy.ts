import { once } from 'node:events';
import { connect, createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';

/** What a client needs for the proxy, as PEM. */
export interface Certificates {
  authority: string;
  clientCertificate: string;
  clientKey: string;
}

export interface TlsProxy extends Certificates {
  /** host:port */
  address: string;
  /** Calls that were forwarded. */
  calls(): number;
  close(): Promise<void>;
}

const validFor = (name: string, purpose: 'serverAuth' | 'clientAuth', ca: { key: string; cert: string }) =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true },
      { name: 'extKeyUsage', [purpose]: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });

/**
 * What stands before a managed Temporal: HTTP/2 over TLS, with a client certificate, and an API key in each call. Calls
 * that prove both go to the server at `target`.
 */
export async function startTlsProxy(target: string, apiKey: string): Promise<TlsProxy> {
  const authority = await generate([{ name: 'commonName', value: 'Test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true },
    ],
  });
  const ca = { key: authority.private, cert: authority.cert };
  const [server, client] = [await validFor('server', 'serverAuth', ca), await validFor('client', 'clientAuth', ca)];
  const upstream = connect(`http://${target}`);
  let calls = 0;
  const listener = createSecureServer({
    key: server.private,
    cert: server.cert,
    ca: ca.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  listener.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {});
    if (headers.authorization !== `Bearer ${apiKey}`) {
      // gRPC: UNAUTHENTICATED.
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16' }, { endStream: true });
      return;
    }
    calls += 1;
    const forwarded = upstream.request({ ...headers, ':scheme': 'http', ':authority': target });
    forwarded.on('error', () => stream.destroy());
    stream.on('close', () => forwarded.close());
    stream.pipe(forwarded);
    forwarded.on('response', (answer, flags) => {
      const { ':status': status, ...rest } = answer;
      // A refusal of gRPC is headers alone.
      const endStream = (flags & 1) === 1;
      stream.respond({ ':status': status, ...rest }, { endStream, waitForTrailers: !endStream });
      if (endStream) return;
      let trailers = {};
      forwarded.on('trailers', (given) => {
        trailers = given;
      });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      forwarded.pipe(stream);
    });
  });
  const sessions = new Set<{ destroy(): void }>();
  listener.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    authority: ca.cert,
    clientCertificate: client.cert,
    clientKey: client.private,
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    calls: () => calls,
    async close() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
