import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { type DocumentedOperation, exampleBody, pathOf, takesIdempotencyKey } from '../openapi/document.ts';
import type { Recorder } from './recorder.ts';

/** Keys that are refused, each for one reason. */
export interface RefusedKeys {
  /** Has a scope that no operation needs. */
  withoutScopes: string;
  /** Its organization may send one request a day, and has. */
  limited: string;
}

const tooLarge = `{"name":"${'x'.repeat(1024 * 1024)}"}`;
const uuid = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const nobodys = [
  { prefix: /\/webhooks\/\{id\}\/deliveries/, parameter: 'deliveryId', id: `dlv_${uuid.replaceAll('-', '')}` },
  { prefix: /./, parameter: 'version', id: '1' },
  { prefix: /./, parameter: 'secretName', id: 'NOTHING' },
  { prefix: /./, parameter: 'approvalId', id: uuid },
  { prefix: /./, parameter: 'batchId', id: uuid },
  { prefix: /./, parameter: 'bulkActionId', id: uuid },
  { prefix: /./, parameter: 'serverId', id: 'nothing' },
  { prefix: /./, parameter: 'integrationId', id: 'nothing' },
  { prefix: /./, parameter: 'webhookId', id: uuid },
  { prefix: /./, parameter: 'actionRunId', id: uuid },
  { prefix: /./, parameter: 'event', id: 'message_received' },
  { prefix: /./, parameter: 'type', id: 'nobody.knows' },
  { prefix: /./, parameter: 'actionId', id: 'send_message' },
  { prefix: /./, parameter: 'stepId', id: 'say' },
  { prefix: /./, parameter: 'secret', id: 'trg_nobodys' },
  { prefix: /./, parameter: 'name', id: `${'n'.repeat(43)}.png` },
  { prefix: /./, parameter: 'keyId', id: uuid },
  { prefix: /./, parameter: 'memberId', id: uuid },
  { prefix: /./, parameter: 'identityId', id: uuid },
  { prefix: /./, parameter: 'invitationId', id: uuid },
  { prefix: /./, parameter: 'id', id: uuid },
];

/** Asks every operation for each failure that any caller can bring about, in both dialects. */
export class Refusals {
  readonly #recorder: Recorder;
  readonly #api: string;
  readonly #keys: RefusedKeys & { good: string };
  #addresses = 0;

  constructor(recorder: Recorder, api: string, keys: RefusedKeys & { good: string }) {
    this.#recorder = recorder;
    this.#api = api;
    this.#keys = keys;
  }

  async recordAll(operations: DocumentedOperation[]): Promise<void> {
    for (const of of operations) {
      // The two prefixes lead to one place; each dialect is asked for below one of them.
      const dialects = of.isVersioned ? [of.path.startsWith('/api/') ? 'A' : 'B'] : ['-'];
      for (const dialect of dialects) await this.#record(of, dialect);
    }
  }

  async #record(of: DocumentedOperation, dialect: string): Promise<void> {
    const body = exampleBody(of);
    const good = apiClient(this.#api, this.#keys.good);
    const ask = async (what: string, client: ApiClient, sent?: unknown, headers?: Record<string, string>) =>
      this.#recorder.record(`${dialect} ${of.endpoint} ${what}`, await this.#ask(of, dialect, client, sent, headers));
    const isOpen = of.operation.security.length === 0;
    if (!isOpen) await ask('without a key', apiClient(this.#api), body);
    if (of.needsKey) {
      await ask('with a bad key', apiClient(this.#api, 'sk_test_nonsense'), body);
      await ask('too often', apiClient(this.#api, this.#keys.limited), body);
      if (of.isVersioned) await ask('with a variant that there is not', good, body, { 'x-api-variant': 'C' });
    }
    if (of.scope) await ask('without the scope', apiClient(this.#api, this.#keys.withoutScopes), body);
    if (of.path.includes('{')) await ask('of nobody', good, body);
    if (takesIdempotencyKey(of)) await ask('with a bad Idempotency-Key', good, body, { 'idempotency-key': ' é' });
    if (of.operation.requestBody) {
      await ask('with too large a body', good, tooLarge);
      await ask('with a body of another type', good, '{}', { 'content-type': 'application/xml' });
      await ask('with broken JSON', good, '{');
      await ask('with a list as the body', good, []);
    }
  }

  #ask(
    of: DocumentedOperation,
    dialect: string,
    client: ApiClient,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    return client.request(of.method, pathOf(of, nobodys), body, {
      ...(dialect !== '-' && { 'x-api-variant': dialect }),
      // An address may fail 100 times a minute.
      'x-forwarded-for': `198.51.${100 + Math.floor(this.#addresses / 250)}.${1 + (this.#addresses++ % 250)}`,
      ...more,
    });
  }

  /** Paths and methods that do not exist. */
  async recordNowhere(templates: string[]): Promise<void> {
    const client = apiClient(this.#api, this.#keys.good);
    for (const template of templates) {
      const path = template.replace('{secret}', 'trg_nobodys').replaceAll(/\{\w+\}/g, uuid);
      this.#recorder.record(`OPTIONS ${template}`, await client.request('OPTIONS', path));
    }
    for (const path of ['/', '/api', '/nothing', '/api/nothing', '/api/v2/workflows', '/docs/nothing']) {
      this.#recorder.record(`GET ${path}`, await client.get(path));
    }
    for (const prefix of ['/api/chat', '/api/agents', '/api/voice', '/api/studio', '/api/v1', '/v1']) {
      for (const path of [prefix, `${prefix}/nothing`, `${prefix}ter/nothing`]) {
        this.#recorder.record(`GET ${path}`, await client.get(path));
        this.#recorder.record(`B GET ${path}`, await client.get(path, { 'x-api-variant': 'B' }));
      }
    }
  }
}
