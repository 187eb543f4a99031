import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import type { Json } from '../openapi/document.ts';

export const revisions = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof revisions)[number];

const clientInfo = { name: 'test', version: '1.0.0' };
const capabilities = { elicitation: { form: {} } };

/** The official client, connected to the product in one revision of the protocol. */
export async function connect(api: string, key: string, revision: Revision): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const);
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', api), { requestInit: { headers } }));
  return client;
}

const metaName = (name: string) => `io.modelcontextprotocol/${name}`;

/** What a request of the newest revision carries. */
export const envelope = (extensions: Record<string, object> = {}) => ({
  [metaName('protocolVersion')]: '2026-07-28',
  [metaName('clientInfo')]: clientInfo,
  [metaName('clientCapabilities')]: { ...capabilities, extensions },
});
export const withTasks = envelope({ [metaName('tasks')]: {} });

/** Sends a message as it is, as a client of the newest revision would. */
export async function post(
  api: string,
  key: string | undefined,
  message: Json,
  more: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: Json }> {
  const { taskId, name } = message?.params ?? {};
  const isModern = message?.params?._meta?.[metaName('protocolVersion')] !== undefined;
  const response = await fetch(new URL('/mcp', api), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(isModern && { 'mcp-protocol-version': '2026-07-28', 'mcp-method': message.method }),
      ...(isModern && (taskId ?? name) !== undefined && { 'mcp-name': taskId ?? name }),
      ...more,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const last = isStream
    ? text
        .split('\n')
        .findLast((line) => line.startsWith('data:'))
        ?.slice(5)
    : text;
  return { status: response.status, headers: response.headers, body: last ? JSON.parse(last) : undefined };
}

let ids = 0;
export const request = (method: string, params: Json = {}, meta: Json = withTasks) => ({
  jsonrpc: '2.0',
  id: ++ids,
  method,
  params: { ...params, _meta: meta },
});

type Ask = (asked: { kind: string; params: Json }) => Promise<Json>;

/** A session of the tasks extension, by its official package. */
export const taskSession = (client: Client, { api, key, onAsked }: { api: string; key: string; onAsked?: Ask }) =>
  createTaskSessionFromClient(client, {
    endpointId: 'test',
    async rawDispatch(message) {
      const { result, error } = (await post(api, key, { jsonrpc: '2.0', id: ++ids, ...(message as object) })).body;
      return error ? { kind: 'error', error } : { kind: 'result', result };
    },
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: capabilities },
    ...(onAsked && { onInputRequest: onAsked as never }),
  });
