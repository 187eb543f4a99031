import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Connection } from '@temporalio/client';
import { buildApp } from '../../api/app.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv } from '../../src/services.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import type { Answer } from '../api-client.ts';
import { Conformance } from '../openapi/conformance.ts';
import { createTestDatabase } from '../test-database.ts';

/** The API as a process composes it. Nothing connects until a request needs it, and no request of these tests needs Temporal. */
export async function composeApp(variables: Record<string, string> = {}) {
  const env = readEnv({ DATABASE_URL: 'postgresql://127.0.0.1/none', TEMPORAL_ADDRESS: '127.0.0.1:1', ...variables });
  const services = await openServices(env, openLog('silent', 'test'), { connection: Connection.lazy() });
  return { services, app: buildApp(services, { version: '0.0.0', commit: 'none' }) };
}

interface SentRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array | undefined;
}

export interface AppWithoutProcess {
  /** A key of its only tenant. */
  key: string;
  /** Every answer is compared with the OpenAPI document. */
  request(sent: SentRequest): Promise<Answer>;
  close(): Promise<void>;
}

/** The API on a database of its own, for requests that are refused before there is work to do. */
export async function openApp(): Promise<AppWithoutProcess> {
  const { url, drop } = await createTestDatabase();
  const { app, services } = await composeApp({ DATABASE_URL: url });
  const { id } = await createOrganization(services.database, { name: 'Test', plan: 'enterprise' });
  const { key } = await createKey(services.database, { organizationId: id, environment: 'test' });
  const conformance = new Conformance(await (await app.request('/openapi.json')).json());
  return {
    key,
    async request({ method, path, headers = {}, body }) {
      // As from a socket on which nothing else came: the app sets headers on Node's response.
      const incoming = new IncomingMessage(new Socket());
      const outgoing = new ServerResponse(incoming);
      const init: RequestInit = { method, headers, ...(body && { body }) };
      const response = await app.request(path, init, { incoming, outgoing });
      const received = new Headers(response.headers);
      for (const [name, value] of Object.entries(outgoing.getHeaders())) {
        if (!received.has(name)) received.set(name, String(value));
      }
      const text = await response.text();
      const isJson = received.get('content-type')?.startsWith('application/json');
      const answer = { status: response.status, headers: received, body: isJson && text ? JSON.parse(text) : text };
      conformance.check({ method, path, ...answer });
      return answer;
    },
    async close() {
      await services.close();
      await drop();
    },
  };
}
