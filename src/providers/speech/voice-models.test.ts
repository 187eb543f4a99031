import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { soundFile } from '../../../test/fakes/media-files.ts';
import {
  type AudioBehaviour,
  type FakeAudio,
  spokenSeconds,
  startFakeAudio,
} from '../../../test/fakes/openai-audio.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { until } from '../../../test/until.ts';
import { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { readEnv } from '../../platform/env.ts';
import { type Log, openLog } from '../../platform/observability/log.ts';
import { voices } from '../core/speech/voices.ts';
import { finishOutput } from '../media/live/finishing.ts';
import { id3Tag } from '../sandbox/media/id3.ts';
import { sayText } from '../sandbox/speech/saying.ts';
import { providerSettings } from '../settings.ts';
import { examineAudio } from './audio/audio-examination.ts';
import { transcriptName } from './audio/examine-audio.ts';
import type { Recording, SpeechRequest } from './voice-ports.ts';
import { openVoices, type VoiceRegistry } from './voice-registry.ts';

const base = { DATABASE_URL: 'postgres://x@127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
const fox = 'The quick brown fox jumps over the lazy dog.';

const warn = jest.fn();
const log = { warn } as unknown as Log;
let work: BoundedWork;
let folder: string;
let fake: FakeAudio;
const open = (env: Record<string, string> = {}): VoiceRegistry =>
  openVoices(readEnv([providerSettings], { ...base, ...env }), log, work);
const configured = (more: Record<string, string> = {}) =>
  open({ VOICE_API_KEY: fake.apiKey, VOICE_BASE_URL: `${fake.baseUrl}/`, ...more });

beforeAll(async () => {
  work = new BoundedWork({ log: openLog('error', 'test'), tasks: [sayText, examineAudio, finishOutput] });
  folder = await mkdtemp(join(tmpdir(), 'atelier-voice-test-'));
  fake = await startFakeAudio();
});
beforeEach(() => {
  fake.journal.length = 0;
});
afterAll(async () => {
  work.close();
  await fake.close();
  await rm(folder, { recursive: true });
});

const callOf = (signal = new AbortController().signal, attempt = 1) => ({
  tenantKey: tenantKeyOf('one'),
  attempt,
  signal,
});
const examine = (path: string) => work.run(examineAudio, tenantKeyOf('one'), { path });

/** What was said, examined and discarded. */
async function spoken(registry: VoiceRegistry, environment: 'test' | 'live', request: Partial<SpeechRequest> = {}) {
  const asked = { text: fox, voice: 'alloy' as const, speed: 1, ...request };
  const { path, seconds, discard } = await registry.speechModel(environment).speak(asked, callOf());
  const [bytes, examined] = [await readFile(path), await examine(path)];
  await discard();
  expect(existsSync(path)).toBe(false);
  expect(examined).toMatchObject({ format: 'mp3', seconds: expect.closeTo(seconds, 2) });
  return { bytes, seconds, transcript: examined!.transcript };
}

async function recordingOf(bytes: Buffer, more: Partial<Recording> = {}): Promise<Recording> {
  const path = join(folder, 'recording');
  await writeFile(path, bytes);
  const { format, seconds } = (await examine(path))!;
  return { path, format, seconds, language: undefined, ...more };
}

describe('the sandbox', () => {
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

  test('has another sound for each voice, and the same for the same request', async () => {
    const registry = open();
    const said = await Promise.all([...voices, 'alloy' as const].map((voice) => spoken(registry, 'test', { voice })));
    const digests = said.map(({ bytes }) => digest(bytes));
    expect(new Set(digests).size).toBe(voices.length);
    expect(digests.at(-1)).toBe(digests[0]);
    for (const { seconds, transcript } of said) {
      expect(seconds).toBeGreaterThan(2);
      expect(seconds).toBeLessThan(5);
      expect(transcript).toBe(fox);
    }
  });

  test('speaks as fast as it is asked to', async () => {
    const registry = open();
    const [normal, ...others] = await Promise.all(
      [1, 0.25, 0.5, 2, 4].map(async (speed) => ({ speed, ...(await spoken(registry, 'test', { speed })) })),
    );
    for (const { speed, seconds } of others) {
      // The silence of the format is not stretched.
      expect(Math.abs(seconds - normal!.seconds / speed)).toBeLessThan(0.4);
    }
  });

  test.each(['...', '🥊', '你好', ', '.repeat(2_000)])(
    'is silent for a while where nothing can be said: %j',
    async (text) => {
      const { seconds } = await spoken(open(), 'test', { text });
      expect(seconds).toBeGreaterThanOrEqual(0.2);
      expect(seconds).toBeLessThan(1);
    },
  );

  test.each([
    ['a long text', fox.repeat(90)],
    ['one word', 'a'.repeat(1_500)],
    ['signs that are said as words', '@'.repeat(4_096)],
    ['what looks like an option', '-voice kal -o /etc/x'],
    ['other alphabets', `Zwölf “Boxkämpfer” £5 привет\n${'𝕏'.repeat(500)}`],
  ])('says %s', async (_, text) => {
    const { seconds, transcript } = await spoken(open(), 'test', { text, speed: 4 });
    expect(seconds).toBeGreaterThan(0.2);
    expect(transcript).toBe(text);
  });

  test('hears what it has said, and says of others that it cannot', async () => {
    const registry = open();
    const model = registry.transcriptionModel('test');
    const text = 'Grüße, 🥊 and "quotes"\nin two lines';
    const own = await recordingOf((await spoken(registry, 'test', { text, voice: 'nova' })).bytes);
    expect(await model.transcribe(own, callOf())).toEqual({ text, language: 'en' });
    const tagOf = (said: string) => id3Tag('sandbox', { [transcriptName]: said });
    const sound = (await readFile(own.path)).subarray(tagOf(text).length);
    const hears = async (said: string) => {
      const transcribed = await model.transcribe(await recordingOf(Buffer.concat([tagOf(said), sound])), callOf());
      return transcribed.text === said;
    };
    expect(await hears('🥊'.repeat(4_096))).toBe(true);
    for (const length of [4_097, 9_000_000]) expect(await hears('x'.repeat(length))).toBe(false);
    const other = await recordingOf(soundFile(0.5).bytes, { language: 'de' });
    const ofOther = `Sandbox transcription of 0.5 seconds of audio (sha256 ${digest(soundFile(0.5).bytes).slice(0, 8)})`;
    expect(await model.transcribe(other, callOf())).toEqual({ text: ofOther, language: 'de' });
  });

  test.each([
    ['sandbox:fail', 'unavailable', false],
    ['sandbox:refuse', 'content_refused', false],
    ['sandbox:timeout', 'timeout', false],
    ['sandbox:overloaded', 'overloaded', true],
  ])('fails for %s', async (text, kind, retryable) => {
    const asked = { text: `Say ${text}`, voice: 'echo' as const, speed: 1 };
    const model = open().speechModel('test');
    await expect(model.speak(asked, callOf())).rejects.toMatchObject({ kind, retryable });
    if (retryable) await (await model.speak(asked, callOf(undefined, 3))).discard();
  });

  test('ends with the signal, and for its reason', async () => {
    const reason = new Error('Enough.');
    const controller = new AbortController();
    const asked = { text: 'sandbox:slow=30', voice: 'echo' as const, speed: 1 };
    const waiting = open().speechModel('test').speak(asked, callOf(controller.signal));
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe('a recording', () => {
  test.each([
    ['a text', Buffer.from('Hello, this is no sound at all.')],
    ['a header alone', soundFile(1).bytes.subarray(0, 44)],
    ['a tag alone', Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')],
    ['an MP4 without anything', Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp41', 'latin1')],
    ['a tag that says it is huge', Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1')],
    ['nothing', Buffer.alloc(0)],
  ])('is refused that is %s', async (_, bytes) => {
    const path = join(folder, 'no-recording');
    await writeFile(path, bytes);
    expect(await examine(path)).toBeNull();
  });

  test('that is cut counts as what is left of it', async () => {
    const whole = soundFile(2).bytes;
    expect((await recordingOf(whole.subarray(0, 44 + (whole.length - 44) / 2))).seconds).toBeCloseTo(1, 2);
  });
});

describe('a provider', () => {
  const speak = (registry: VoiceRegistry, signal?: AbortSignal) =>
    registry.speechModel('live').speak({ text: fox, voice: 'alloy', speed: 1 }, callOf(signal));

  test('is there when its key is', () => {
    expect(() => open().speechModel('live')).toThrow(
      expect.objectContaining({ code: 'provider_not_configured', facts: { provider: 'VOICE' } }),
    );
    for (const name of ['VOICE_API_KEY', 'OPENAI_API_KEY'])
      expect(open({ [name]: 'k' }).transcriptionModel('live')).toBeDefined();
    for (const names of ['{"alloy": 7}', '{"nobody": "x"}', '{', '["x"]']) {
      expect(() => open({ VOICE_NAMES: names })).toThrow(/VOICE_NAMES/);
    }
  });

  test('whose models are about to end says so at start, where it is OpenAI', () => {
    warn.mockClear();
    const day = 24 * 3_600_000;
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2027-01-06') - 59 * day);
    open({ OPENAI_API_KEY: 'k' });
    open({ OPENAI_API_KEY: 'k', VOICE_TTS_MODEL: 'tts-2' });
    configured();
    now.mockReturnValue(Date.parse('2027-01-06') - 61 * day);
    open({ OPENAI_API_KEY: 'k' });
    now.mockRestore();
    expect(warn.mock.calls.map(([fields]) => fields)).toEqual([
      { name: 'tts-1', provider: 'VOICE', sunsetAt: '2027-01-06' },
    ]);
  });

  test('is asked for speech, in its own name for the voice', async () => {
    const registry = configured({ VOICE_TTS_MODEL: 'house-tts', VOICE_NAMES: '{"echo": "paul"}' });
    expect((await spoken(registry, 'live', { voice: 'echo', speed: 1.5 })).seconds).toBeCloseTo(spokenSeconds, 0);
    await spoken(registry, 'live');
    const [first, second] = fake.journal;
    expect(first).toMatchObject({ path: '/v1/audio/speech' });
    expect(first!.body).toEqual({ model: 'house-tts', input: fox, voice: 'paul', response_format: 'mp3', speed: 1.5 });
    expect(second!.body).toEqual({ model: 'house-tts', input: fox, voice: 'alloy', response_format: 'mp3' });
  });

  test('that sends WAV has it made MP3', async () => {
    fake.next('wav');
    expect((await spoken(configured(), 'live')).seconds).toBeCloseTo(spokenSeconds, 0);
  });

  test.each<[string, AudioBehaviour, object]>([
    [
      '429',
      { fail: { status: 429, headers: { 'retry-after': '7' }, body: {} } },
      { kind: 'rate_limited', retryable: true, retryAfterMs: 7_000 },
    ],
    ['500', { fail: { status: 500, body: {} } }, { kind: 'unavailable', retryable: false }],
    [
      '400',
      { fail: { status: 400, body: { error: { message: 'Bad voice.' } } } },
      { kind: 'invalid_request', retryable: false },
    ],
    [
      'an empty account',
      { fail: { status: 429, body: { error: { code: 'insufficient_quota' } } } },
      { kind: 'quota', retryable: false },
    ],
    ['a lost answer', 'lose the answer', { kind: 'connection', retryable: false }],
    ['half an answer', 'cut the answer', { kind: 'connection', retryable: false }],
    ['no sound', 'garbage', { kind: 'malformed_answer', retryable: false }],
    ['nothing', 'nothing', { kind: 'malformed_answer', retryable: false }],
  ])('is asked once, and not again for what may have been billed: %s', async (_, behaviour, failure) => {
    fake.next(behaviour);
    await expect(speak(configured())).rejects.toMatchObject({ name: 'ProviderFailure', ...failure });
    expect(fake.journal).toHaveLength(1);
  });

  test('that cannot be reached may be asked again', async () => {
    const gone = await startFakeAudio();
    await gone.close();
    const registry = open({ VOICE_API_KEY: 'k', VOICE_BASE_URL: gone.baseUrl });
    await expect(speak(registry)).rejects.toMatchObject({ kind: 'connection', retryable: true });
  });

  test('is left when no caller waits any more', async () => {
    fake.next('silence');
    const controller = new AbortController();
    const reason = new Error('Enough.');
    const spoken = expect(speak(configured(), controller.signal)).rejects.toBe(reason);
    // One that was aborted before would arrive in the next test.
    await until('it is asked', async () => fake.journal.length > 0);
    controller.abort(reason);
    await spoken;
  });

  test('is given a recording as it is, and asked for its text', async () => {
    const { bytes } = soundFile(0.5);
    const model = configured().transcriptionModel('live');
    expect(await model.transcribe(await recordingOf(bytes, { prompt: 'Ada' }), callOf())).toEqual({
      text: `${bytes.length} bytes`,
      language: 'en',
    });
    const { path, body, file } = fake.journal[0]!;
    const asked = { model: 'gpt-transcribe', response_format: 'json', prompt: 'Ada' };
    expect([path, body]).toEqual(['/v1/audio/transcriptions', asked]);
    expect(file).toMatchObject({ name: 'recording.wav', type: 'audio/wav' });
    expect(file!.bytes.equals(bytes)).toBe(true);
  });

  test.each<[Record<string, unknown>, string | undefined, string]>([
    [{ language: 'german' }, undefined, 'de'],
    [{ language: 'pt-BR' }, 'en', 'pt'],
    [{ languages: [{ code: 'fr' }] }, undefined, 'fr'],
    [{ languages: [] }, 'it', 'it'],
    [{ language: 'Klingonese' }, undefined, 'en'],
  ])('detects the language: %j', async (said, language, expected) => {
    fake.next({ say: { text: 'x', ...said } });
    const model = configured({ VOICE_STT_MODEL: 'whisper-1' }).transcriptionModel('live');
    const transcript = await model.transcribe(await recordingOf(soundFile(0.1).bytes, { language }), callOf());
    expect(transcript.language).toBe(expected);
    expect(fake.journal[0]!.body).toMatchObject({ response_format: 'verbose_json', ...(language && { language }) });
  });

  test('whose transcription is none has failed', async () => {
    fake.next('garbage');
    const failed = configured()
      .transcriptionModel('live')
      .transcribe(await recordingOf(soundFile(0.1).bytes), callOf());
    await expect(failed).rejects.toMatchObject({ kind: 'malformed_answer', retryable: false });
  });
});
