import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** The part of OpenTelemetry's protocol that the product speaks, with the field numbers of its published definition. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
  }
  message Event { string name = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; Value value = 2; }
  message Value { oneof value { string text = 1; bool truth = 2; int64 whole = 3; double number = 4; } }
`);
const Request = root.lookupType('Request');

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first of a trace. */
  parentSpanId: string;
  name: string;
  kind: string;
  failed: boolean;
  startedAt: number;
  endedAt: number;
  attributes: Record<string, unknown>;
  /** The resource of the process that reported it. */
  resource: Record<string, unknown>;
}

export interface FakeCollector {
  endpoint: string;
  /** In the order of their arrival. */
  spans: CollectedSpan[];
  /** Every byte that arrived: bodies, and heads as text. */
  received: Buffer[];
  /** How many exports are being made to wait. */
  hanging(): number;
  close(): Promise<void>;
}

type Pairs = { key: string; value?: Record<string, unknown> }[];
const attributesOf = (pairs: Pairs = []) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));

function decode(body: Buffer): CollectedSpan[] {
  const options = { longs: Number, bytes: String, defaults: false, arrays: true } as const;
  const hex = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString('hex');
  const { resourceSpans } = Request.toObject(Request.decode(body), options);
  // biome-ignore lint/suspicious/noExplicitAny: as it came over the wire
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as it came over the wire
    scopeSpans.flatMap(({ spans }: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: as it came over the wire
      spans.map((span: any) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: kinds[span.kind ?? 0]!,
        failed: span.status?.code === 2,
        startedAt: span.start / 1e6,
        endedAt: span.end / 1e6,
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource?.attributes),
      })),
    ),
  );
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A collector on a free loopback port that takes OTLP over HTTP, or takes it and never answers. */
export async function startFakeCollector({ hangs = false } = {}): Promise<FakeCollector> {
  const spans: CollectedSpan[] = [];
  const received: Buffer[] = [];
  let hanging = 0;
  const server = createServer(async (request, response) => {
    const body = await readAll(request);
    received.push(Buffer.from(`${request.method} ${request.url} ${request.rawHeaders.join(' ')}`), body);
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf') {
      response.writeHead(404).end();
      return;
    }
    spans.push(...decode(body));
    if (hangs) hanging++;
    else response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received,
    hanging: () => hanging,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
