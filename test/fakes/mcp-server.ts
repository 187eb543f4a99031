import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpServer, type LoopbackServer } from '../loopback-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: messages of the protocol, as JSON
type Json = any;

interface Fake {
  /** The tools that it lists at the moment. */
  tools: Json[];
  /** What a call gives: a result of the protocol. */
  call: (name: string, args: Json) => Json | Promise<Json>;
  /** Answers a request in place of the server, when it gives true. */
  instead?:
    | ((request: IncomingMessage, response: ServerResponse, message: Json) => boolean | Promise<boolean>)
    | undefined;
}

export interface FakeMcpServer extends LoopbackServer, Fake {
  url: string;
  /** Every message, with the headers that it came with. */
  journal: { message: Json; headers: IncomingMessage['headers'] }[];
  /** Forgets every session. */
  forget(): void;
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** A tool of the fake's. */
export const fakeTool = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: {} },
  ...more,
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) body += piece;
  return body;
}

/** A server that speaks the Model Context Protocol of 2025-11-25 over streamable HTTP, with sessions. */
export async function fakeMcpServer(given: Partial<Fake> = {}): Promise<FakeMcpServer> {
  let sessions = new Set<string>();
  const resultOf = async ({ method, params }: Json): Promise<Json> => {
    if (method === 'initialize') {
      const serverInfo = { name: 'fake', version: '1' };
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    if (method === 'tools/list') {
      const from = Number(params?.cursor ?? 0);
      const nextCursor = from + 50 < fake.tools.length ? { nextCursor: String(from + 50) } : {};
      return { tools: fake.tools.slice(from, from + 50), ...nextCursor };
    }
    if (method === 'tools/call') return fake.call(params.name, params.arguments);
    return undefined;
  };
  const server = await httpServer(async (request, response) => {
    const body = await bodyOf(request);
    const message = body === '' ? {} : JSON.parse(body);
    fake.journal.push({ message, headers: request.headers });
    if (await fake.instead?.(request, response, message)) return;
    const session = request.headers['mcp-session-id'] as string | undefined;
    if (session !== undefined && !sessions.has(session)) return void response.writeHead(404).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    const result = await resultOf(message);
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (message.method === 'initialize') {
      headers['mcp-session-id'] = `session-${sessions.size + 1}`;
      sessions.add(headers['mcp-session-id']);
    }
    const answer = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  });
  const fake: FakeMcpServer = Object.assign(server, {
    tools: [fakeTool('echo')],
    call: (name: string, args: Json) => text(`${name} ${JSON.stringify(args)}`),
    ...given,
    url: `http://127.0.0.1:${server.port}/mcp`,
    journal: [],
    forget() {
      sessions = new Set();
    },
  });
  return fake;
}
