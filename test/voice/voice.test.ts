import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { reserveCredits } from '../../src/credits/reservations.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { creditsOf } from '../studio/files.ts';
import { withinMinute } from '../tenancy/rate-windows.ts';
import { formOf, silence, type VoiceClient, voiceClient } from './voice.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let voice: VoiceClient;
beforeAll(async () => {
  product = await sharedProduct();
  voice = voiceClient(product.process.api, product.tenant.testKey);
});
afterAll(() => product.close());

const newTenant = async (plan = 'enterprise') => {
  const { testKey, liveKey } = await product.createTenant({ plan });
  const { api } = product.process;
  return { voice: voiceClient(api, testKey), live: voiceClient(api, liveKey), client: apiClient(api, testKey) };
};

async function readAnswer(response: Response) {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says, and says so when it is wrong
  return { status: response.status, body: (await response.json()) as any };
}
const sentence = (status: number, error: unknown) => ({ status, body: { success: false, error } });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe('speech', () => {
  test('is an MP3 file for a credit, and is read again by the sandbox', async () => {
    const { voice: own, client } = await newTenant();
    const before = await creditsOf(client);
    const text = 'The quick brown fox — jumps, über alles. 🦊';
    const response = await own.speak({ text, voice: 'nova', speed: 1.5 });
    const { headers, status } = response;
    const speech = await bytesOf(response);
    expect({
      status,
      type: headers.get('content-type'),
      disposition: headers.get('content-disposition'),
      bytes: Number(headers.get('content-length')),
      credits: headers.get('x-credits-used'),
      cache: headers.get('cache-control'),
    }).toEqual({
      status: 200,
      type: 'audio/mpeg',
      disposition: 'attachment; filename="speech.mp3"',
      bytes: speech.length,
      credits: '1',
      cache: 'no-store',
    });
    expect(speech.subarray(0, 3).toString()).toBe('ID3');
    expect(await creditsOf(client)).toEqual({ balance: before.balance - 1, reserved: 0 });

    const read = await own.transcribe(formOf(speech));
    expect(read.headers.get('x-credits-used')).toBe('2');
    expect(await readAnswer(read)).toEqual({
      status: 200,
      body: { success: true, data: { text, duration: expect.any(Number), language: 'en' } },
    });
    expect(await creditsOf(client)).toEqual({ balance: before.balance - 3, reserved: 0 });
    // Equal requests have equal files.
    expect(await bytesOf(await own.speak({ text, voice: 'nova', speed: 1.5 }))).toEqual(speech);
  });

  test('in another script than Latin is said, and not silence', async () => {
    const { voice: own } = await newTenant();
    const lengthOf = async (text: string) => {
      const speech = await bytesOf(await own.speak({ text }));
      return (await readAnswer(await own.transcribe(formOf(speech)))).body.data.duration;
    };
    for (const text of ['你好,世界。今天天气很好。', 'Сегодня хорошая погода.'])
      expect(await lengthOf(text)).toBeGreaterThan(1);
  });

  test('is repeated for its Idempotency-Key, with its headers, and paid once', async () => {
    const { voice: own, client } = await newTenant();
    const key = { 'idempotency-key': 'once' };
    const first = await own.speak({ text: 'Once.' }, key);
    const speech = await bytesOf(first);
    const before = await creditsOf(client);
    const again = await own.speak({ text: 'Once.' }, key);
    expect(await bytesOf(again)).toEqual(speech);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-credits-used')).toBe('1');
    expect(await creditsOf(client)).toEqual(before);
    expect((await readAnswer(await own.speak({ text: 'Twice.' }, key))).status).toBe(422);

    // Either of two that are sent together may arrive first.
    const hold = newHold(product.database);
    const slow = { text: `${hold.word} Hello.` };
    const inFlight = { 'idempotency-key': randomUUID() };
    const both = [own.speak(slow, inFlight), own.speak(slow, inFlight)];
    expect((await Promise.race(both)).status).toBe(409);
    await hold.release();
    expect((await Promise.all(both)).map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await own.speak(slow, inFlight)).headers.get('idempotent-replayed')).toBe('true');
  });

  test.each([
    [{}, 'Text is required'],
    [{ text: 5, voice: 'nobody' }, 'Text is required'],
    [{ text: ' \n', voice: 'nobody' }, 'Text is required'],
    [{ text: null }, 'Text is required'],
    [{ text: 'x'.repeat(4_097), voice: 'nobody' }, 'Text too long'],
    [{ text: 'x', voice: 'Alloy', speed: 9 }, 'Invalid voice'],
    [{ text: 'x', voice: null }, 'Invalid voice'],
    [{ text: 'x', speed: 0.24 }, 'Invalid speed'],
    [{ text: 'x', speed: 4.01 }, 'Invalid speed'],
    [{ text: 'x', speed: '1' }, 'Invalid speed'],
    [{ text: 'x', speed: null }, 'Invalid speed'],
    [[], 'Invalid request body'],
    ['{', 'Invalid request body'],
  ])('that cannot be made is refused in the published words: %j', async (body, error) => {
    expect(await readAnswer(await voice.speak(body))).toEqual(sentence(400, error));
  });

  test('is counted in code points, up to 4,096 of them', async () => {
    const { voice: own, client } = await newTenant();
    const before = await creditsOf(client);
    const response = await own.speak({ text: `a${' 🦊'.repeat(500)}` });
    expect([response.status, response.headers.get('x-credits-used')]).toEqual([200, '2']);
    expect(await creditsOf(client)).toEqual({ balance: before.balance - 2, reserved: 0 });
    expect((await readAnswer(await own.speak({ text: '🦊'.repeat(4_097) }))).body.error).toBe('Text too long');
  });

  test.each(['sandbox:fail', 'sandbox:refuse', 'sandbox:timeout'])(
    'that fails (%s) is free, and stays so',
    async (text) => {
      const { voice: own, client } = await newTenant();
      const before = await creditsOf(client);
      const failed = sentence(500, 'The voice service failed. Nothing was charged.');
      for (const replayed of [null, 'true']) {
        const response = await own.speak({ text }, { 'idempotency-key': text });
        expect(response.headers.get('idempotent-replayed')).toBe(replayed);
        expect(await readAnswer(response)).toEqual(failed);
      }
      expect(await creditsOf(client)).toEqual(before);
    },
  );

  test('is retried while the provider is overloaded, and paid once', async () => {
    const { voice: own, client } = await newTenant();
    const before = await creditsOf(client);
    expect((await own.speak({ text: 'sandbox:overloaded Hello.' })).status).toBe(200);
    expect(await creditsOf(client)).toEqual({ balance: before.balance - 1, reserved: 0 });
  });
});

describe('a recording', () => {
  test('is measured here, and paid by its started minutes', async () => {
    const { voice: own, client } = await newTenant();
    const before = await creditsOf(client);
    for (const [seconds, credits] of [
      [60, '2'],
      [60.001, '4'],
    ] as const) {
      const response = await own.transcribe(
        formOf(silence(seconds), { as: 'file', language: 'DE-at', named: 'x.txt' }),
      );
      expect(response.headers.get('x-credits-used')).toBe(credits);
      expect((await readAnswer(response)).body.data).toEqual({
        duration: seconds,
        language: 'de',
        text: expect.stringContaining(`${seconds} seconds`),
      });
    }
    expect(await creditsOf(client)).toEqual({ balance: before.balance - 6, reserved: 0 });
  });

  test('is removed when it is transcribed', async () => {
    const { pool } = product.database;
    const { rows } = await pool.query(
      `select count(*)::int as kept from file f join voice_call v on v.file = f.name
        where v.kind = 'stt' and v.status <> 'processing' and (f.remove_at is null or f.remove_at > clock_timestamp())`,
    );
    expect(rows).toEqual([{ kept: 0 }]);
  });

  test('is known by its bytes to its Idempotency-Key, whatever the form and the name', async () => {
    const { voice: own, client } = await newTenant();
    const key = { 'idempotency-key': 'recording' };
    const first = await readAnswer(await own.transcribe(formOf(silence(1)), key));
    const before = await creditsOf(client);
    const again = await own.transcribe(formOf(silence(1), { named: 'other.wav', more: 'ignored' }), key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await readAnswer(again)).toEqual(first);
    expect((await readAnswer(await own.transcribe(formOf(silence(1.5)), key))).status).toBe(422);
    expect((await readAnswer(await own.transcribe(formOf(silence(1), { language: 'de' }), key))).status).toBe(422);
    expect(await creditsOf(client)).toEqual(before);
  });

  const text = new FormData();
  text.set('audio', 'this is no file');
  const nothing = new FormData();
  nothing.set('language', 'en');
  const two = formOf(silence(1));
  two.append('file', new Blob([new Uint8Array(silence(1))]), 'two.wav');
  const manyFields = formOf(silence(1));
  for (let field = 0; field < 101; field++) manyFields.append(`field ${field}`, 'x');
  const languageFile = formOf(silence(1));
  languageFile.append('language', new Blob(['de']), 'language.txt');
  const twoLanguages = formOf(silence(1), { language: 'de' });
  twoLanguages.append('language', 'fr');
  test.each<[string, FormData, string]>([
    ['more fields than are read', manyFields, 'Invalid request body'],
    ['a language in a file', languageFile, 'Invalid language'],
    ['two languages', twoLanguages, 'Invalid language'],
    ['no file', nothing, 'Audio file is required'],
    ['a text for a file', text, 'Audio file is required'],
    ['two files', two, 'Audio file is required'],
    ['an empty file', formOf(new Uint8Array()), 'Audio file is required'],
    ['another format', formOf(Buffer.from('Hello, world. This is a text.')), 'Unsupported format'],
    ['a header alone', formOf(silence(0)), 'Unsupported format'],
    ['the header of a frame alone', formOf(Buffer.from([0xff, 0xfb, 0x90, 0x64])), 'Unsupported format'],
    [
      'a text that ends like the header of a frame',
      formOf(
        Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.alloc(60_000, 'text'), Buffer.from([0xff, 0xfb, 0x90, 0x64])]),
      ),
      'Unsupported format',
    ],
    ['a forged length', formOf(silence(1).fill(0xff, 40, 44), {}), ''],
    ['more than 30 minutes', formOf(silence(1_800.001)), 'Audio too long'],
    ['too long a language', formOf(silence(1), { language: 'english' }), 'Invalid language'],
    ['a language that there is not', formOf(silence(1), { language: 'qq' }), 'Invalid language'],
    ['more than 25 MB', formOf(Buffer.concat([silence(1), Buffer.alloc(25 * 1024 * 1024)])), 'File too large'],
  ])('that is wrong is refused in the published words: %s', async (_, form, error) => {
    const { status, body } = await readAnswer(await voice.transcribe(form));
    // What a header claims is not believed: the length is that of the samples that are there.
    if (error === '') expect([status, body.data.duration]).toEqual([200, 1]);
    else expect({ status, body }).toEqual(sentence(400, error));
  });

  test('comes in a form, or not at all', async () => {
    const send = (type: string, body: string) =>
      voice.send('/api/voice/stt', { headers: { 'content-type': type }, body }).then(readAnswer);
    expect(await send('application/json', '{}')).toEqual(sentence(415, 'Unsupported content type'));
    expect(await send('multipart/form-data', 'x')).toEqual(sentence(400, 'Invalid request body'));
    const cut = '--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\nRIFF';
    expect(await send('multipart/form-data; boundary=b', cut)).toEqual(sentence(400, 'Invalid request body'));
  });

  test('of 25 MB is taken whole', async () => {
    const seconds = 25 * 1024 * 1024 - 44;
    const file = silence(1);
    file.writeUInt32LE(8_000_000, 28);
    file.writeUInt32LE(8_000_000, 24);
    const whole = Buffer.concat([file, Buffer.alloc(25 * 1024 * 1024 - file.length, 0x80)]);
    whole.writeUInt32LE(seconds, 40);
    const response = await voice.transcribe(formOf(whole));
    expect(await readAnswer(response)).toMatchObject({ status: 200, body: { success: true } });
  });
});

describe('any caller', () => {
  test('needs a key, a provider, credits and a scope', async () => {
    const { live } = await newTenant();
    const stranger = voiceClient(product.process.api, 'sk_test_nonsense');
    expect(await readAnswer(await stranger.speak('{'))).toEqual(sentence(401, 'Unauthorized'));
    expect(await readAnswer(await stranger.transcribe(formOf(silence(1))))).toEqual(sentence(401, 'Unauthorized'));
    const missing = sentence(503, 'Voice service not configured');
    expect(await readAnswer(await live.speak({ text: 'x' }))).toEqual(missing);
    expect(await readAnswer(await live.speak({ text: '' }))).toEqual(sentence(400, 'Text is required'));
    expect(await readAnswer(await live.transcribe(formOf(silence(1))))).toEqual(missing);
    expect(await readAnswer(await voice.send('/api/voice/tts', { headers: {}, body: null }))).toMatchObject({
      status: 400,
    });
    const get = await fetch(new URL('/api/voice/tts', product.process.api));
    expect(await readAnswer(get)).toEqual(sentence(405, 'Method not allowed'));
  });

  test('without the credits gets nothing, and nothing is kept', async () => {
    const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
    const [own, client] = [voiceClient(product.process.api, testKey), apiClient(product.process.api, testKey)];
    const { balance } = await creditsOf(client);
    const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' } as const;
    const scope = new Scope(product.database, tenant, 'voice-test');
    const rest = { operation: 'image', key: 'everything else', amount: balance - 5, expiresInMs: 3_600_000 } as const;
    await reserveCredits(scope, rest);
    const refused = sentence(402, 'Insufficient credits');
    expect(await readAnswer(await own.transcribe(formOf(silence(1_800))))).toEqual(refused);
    const answers = await Promise.all(Array.from({ length: 12 }, () => own.speak({ text: 'A crowd.' })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(200), ...Array(7).fill(402)]);
    expect(await creditsOf(client)).toEqual({ balance: balance - 5, reserved: balance - 5 });
    const { rows } = await product.database.pool.query(
      'select count(*)::int as kept from file where organization_id = $1 and recorded_at is null and remove_at > clock_timestamp()',
      [tenant.organizationId],
    );
    expect(rows).toEqual([{ kept: 0 }]);
  });

  test.each<[string, number, (own: VoiceClient) => Promise<Response>]>([
    ['60 requests for speech', 60, (own) => own.speak({})],
    ['30 for transcriptions', 30, (own) => own.transcribe(new FormData())],
  ])('has %s a minute, refused ones in no window', (_, limit, send) =>
    withinMinute(async () => {
      const { voice: own } = await newTenant();
      const answers = await Promise.all(Array.from({ length: 2 * limit + 1 }, () => send(own)));
      const refused = answers.filter(({ status }) => status === 429);
      for (const one of refused) {
        expect(one.headers.get('x-ratelimit-limit')).toBe(String(limit));
        expect(one.headers.get('x-ratelimit-remaining')).toBe('0');
        expect(Number(one.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await one.json()).toEqual({ success: false, error: 'Rate limit exceeded' });
      }
      expect(answers.length - refused.length).toBe(limit);
    }, 20),
  );
});
