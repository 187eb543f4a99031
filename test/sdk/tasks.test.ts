import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Atelier, AuthenticationError, NotFoundError, Webhooks } from '../../sdk/typescript/src/index.ts';
import { sharedProduct } from '../product.ts';
import { openReceiver, type Receiver } from '../webhooks/receiver.ts';
import { type Tasks, tasksOfClient, tasksOverHttp } from './tasks.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let receiver: Receiver;
let both: { ofClient: Tasks; overHttp: Tasks };
beforeAll(async () => {
  [product, receiver] = await Promise.all([sharedProduct('webhooks'), openReceiver()]);
  const [one, other] = [product.tenant, await product.createTenant({ plan: 'enterprise' })];
  both = {
    ofClient: tasksOfClient(product.process.api, one.testKey),
    overHttp: tasksOverHttp(product.process.api, other.testKey),
  };
});
afterAll(async () => {
  await receiver.close();
  await product.close();
});

/** What both get, which has to be the same. */
async function same<Result>(task: (tasks: Tasks) => Promise<Result>): Promise<Result> {
  const [one, other] = await Promise.all([task(both.ofClient), task(both.overHttp)]);
  expect(one).toEqual(other);
  return one;
}

describe('the client does what bare HTTP does:', () => {
  test('it runs workflows, follows their events and lists their runs', async () => {
    const seen = await same(async (tasks) => {
      const id = await tasks.createWorkflow('Greeting', 'Greet {{input}}.');
      const first = await tasks.run(id, 'Ada');
      for (const input of ['Grace', 'Edsger']) await tasks.run(id, input);
      return { first, events: await tasks.events(id), inputs: (await tasks.inputs(id)).length };
    });
    expect(seen).toMatchObject({ first: { status: 'COMPLETED' }, inputs: 4 });
    expect(seen.events).toEqual(['run.started', 'step.started', 'step.completed', 'run.completed']);
  });

  test('it chats, streams replies and asks agents', async () => {
    const { streamed } = await same(async (tasks) => ({
      reply: await tasks.chat('Say hello.'),
      streamed: await tasks.chatStream('Tell me more.'),
      agent: await tasks.agent('Who are you?'),
    }));
    expect(streamed.text).toBe(streamed.content);
    expect(streamed.text).toMatch(/Tell me more\./);
  });

  test('it makes images and videos, speaks and transcribes', async () => {
    const made = await same(async (tasks) => ({
      image: await tasks.image('A lighthouse'),
      video: await tasks.video('Waves'),
      voice: await tasks.speakAndTranscribe('Hello from the client.'),
    }));
    expect(made).toMatchObject({ image: 'completed', video: 'completed' });
    expect(made.voice.bytes).toBeGreaterThan(1_000);
  });

  test('it books times and acts in integrations, for the same credits', async () => {
    const done = await same(async (tasks) => ({
      booking: await tasks.book('Grace'),
      slack: Object.keys((await tasks.slack('Deployed.')) as object),
    }));
    expect(done.booking.status).toBe('confirmed');
    await same((tasks) => tasks.credits());
  });

  test('it learns why a request was refused', async () => {
    expect(await same((tasks) => tasks.refusal())).toEqual({
      status: 400,
      code: expect.any(String),
      errors: 1,
      id: true,
    });
  });
});

describe('the client', () => {
  test('distinguishes failures, and never shows its key', async () => {
    const atelier = new Atelier({ baseUrl: product.process.api, apiKey: product.tenant.testKey });
    const missing = await atelier.runs.get('01990000-0000-7000-8000-000000000000').catch((error) => error);
    expect(missing).toBeInstanceOf(NotFoundError);
    expect({ ...missing }).toMatchObject({ status: 404, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const apiKey = 'sk_test_000000000000000000000000000000000000';
    const stranger = atelier.withOptions({ apiKey });
    const refused = await stranger.credits.get().catch((error) => error);
    expect(refused).toBeInstanceOf(AuthenticationError);
    const { inspect } = await import('node:util');
    for (const shown of [
      inspect(refused, { depth: 9, showHidden: true }),
      inspect(stranger, { depth: 9 }),
      JSON.stringify(stranger),
    ])
      expect(shown).not.toContain(apiKey);
    expect(() => new Atelier({ baseUrl: product.process.api, apiKey: `${apiKey}\n` })).toThrow(/apiKey contains/);
    // The failure of a chat is only a sentence.
    const sentence = await stranger.chat
      .create({ messages: [{ role: 'user', content: 'Hi' }] })
      .catch((error) => error);
    expect({ ...sentence, message: sentence.message }).toMatchObject({
      status: 401,
      code: null,
      message: 'Unauthorized',
    });
  });

  test('ends a wait at its time or signal, and leaves nothing behind', async () => {
    const atelier = new Atelier({ baseUrl: product.process.api, apiKey: product.tenant.testKey });
    const steps = [{ id: 'pause', type: 'wait' as const, for: '1h' }];
    const { id } = await atelier.workflows.create({ name: 'Waits', steps });
    const started = await atelier.workflows.execute(id, { async: true });
    await expect(atelier.runs.wait(started.runId!, { timeoutMs: 500 })).rejects.toMatchObject({ name: 'TimeoutError' });
    const stop = new AbortController();
    const waited = atelier.runs.wait(started.runId!, {
      signal: stop.signal,
      onEvent: () => stop.abort(new Error('Enough.')),
    });
    await expect(waited).rejects.toThrow('Enough.');
    await atelier.runs.cancel(started.runId!);
    expect((await atelier.runs.wait(started.runId!)).status).toBe('CANCELLED');
  });

  test('pages through lists, and gives one page with its total', async () => {
    const atelier = new Atelier({ baseUrl: product.process.api, apiKey: (await product.createTenant()).testKey });
    const names = ['One', 'Two', 'Three', 'Four', 'Five'];
    for (const name of names) await atelier.workflows.create({ name });
    const first = await atelier.workflows.list({ limit: 2 }).page();
    expect(first).toMatchObject({ total: 5, hasMore: true });
    const second = await first.next!();
    expect(second.items).toHaveLength(2);
    expect(await second.next!()).toMatchObject({ items: [expect.anything()], hasMore: false });
    const seen: string[] = [];
    for await (const { name } of atelier.workflows.list({ limit: 2 })) seen.push(name);
    expect(seen.toSorted()).toEqual(names.toSorted());
  });

  test('verifies webhooks of each family, and those of a rotation', async () => {
    for (const [name, tasks] of Object.entries(both)) {
      const { id, secret } = await tasks.webhook(receiver.url(`/${name}`));
      await tasks.testWebhook(id);
      const { body, ...received } = (await receiver.has(`/${name}`, 1))[0]!;
      const headers = received.headers as Record<string, string>;
      const event = await Webhooks.verify(body, headers, ['whsec_b3RoZXI=', secret]);
      if (event.type !== 'test.webhook') throw new Error('It is another event.');
      expect(event.data.message).toBe('This is a test.');
      const only = (pattern: RegExp) =>
        Object.fromEntries(Object.entries(headers).filter(([header]) => pattern.test(header)));
      const families = [/^webhook-/, /^x-webhook-/, /^x-service-/];
      for (const family of families) {
        await expect(Webhooks.verify(Buffer.from(body), only(family), secret)).resolves.toEqual(event);
        await expect(Webhooks.verify(`${body} `, only(family), secret)).rejects.toMatchObject({
          code: 'invalid_signature',
        });
        await expect(Webhooks.verify(body, only(family), 'whsec_b3RoZXI=')).rejects.toMatchObject({
          code: 'invalid_signature',
        });
      }
      await expect(Webhooks.verify(body, {}, secret)).rejects.toMatchObject({ code: 'invalid_signature' });
    }
  });

  test('refuses webhooks that were signed long ago, and accepts public keys', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const key = `whpk_${publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`;
    const body = JSON.stringify({ id: 'evt_1', type: 'test.webhook', createdAt: new Date().toISOString(), data: {} });
    const signedAt = (seconds: number) => {
      const content = Buffer.from(`evt_1.${seconds}.${body}`);
      const signature = sign(null, content, createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' })));
      return {
        'Webhook-Id': 'evt_1',
        'Webhook-Timestamp': String(seconds),
        'Webhook-Signature': `v1a,AAAA v1a,${signature.toString('base64')}`,
      };
    };
    const now = Math.floor(Date.now() / 1_000);
    await expect(Webhooks.verify(body, signedAt(now), key)).resolves.toMatchObject({ id: 'evt_1' });
    await expect(Webhooks.verify(body, new Headers(signedAt(now)), key)).resolves.toMatchObject({ id: 'evt_1' });
    await expect(Webhooks.verify(body, signedAt(now - 301), key)).rejects.toMatchObject({
      code: 'timestamp_out_of_range',
    });
    await expect(Webhooks.verify(body, signedAt(now + 400), key)).rejects.toMatchObject({
      code: 'timestamp_out_of_range',
    });
    await expect(Webhooks.verify(body.replace('evt_1', 'evt_2'), signedAt(now), key)).rejects.toMatchObject({
      code: 'invalid_signature',
    });
  });
});
