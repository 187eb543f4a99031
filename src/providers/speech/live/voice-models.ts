import { openAsBlob } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenAI } from 'openai';
import { z } from 'zod';
import type { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../../platform/bounded-work/task.ts';
import { cleanText } from '../../../platform/core/clean-text.ts';
import { type FailureFacts, ProviderFailure } from '../../../platform/provider-failure.ts';
import type { TenantKey } from '../../../platform/security/tenant-key.ts';
import { openWorkFolder } from '../../../platform/work-folder.ts';
import type { AudioFormat } from '../../core/speech/audio-format.ts';
import type { Voice } from '../../core/speech/voices.ts';
import { toProviderFailure } from '../../failures.ts';
import { type BodyForm, HttpExchange } from '../../http-exchange.ts';
import { wasSent } from '../../media/live/exchange.ts';
import { finishOutput } from '../../media/live/finishing.ts';
import { unusable } from '../../media/live/output-file.ts';
import type { Call } from '../../ports.ts';
import type { MadeSpeech, SpeechModel, Transcript, TranscriptionModel } from '../voice-ports.ts';
import { languageCode } from './languages.ts';

export interface VoiceOptions {
  apiKey: string;
  /** Ends with /v1. */
  baseUrl: string;
  /** Time limit of one call, until the response is read. */
  timeoutMs: number;
  speechModel: string;
  transcriptionModel: string;
  /** The provider's names of voices. Others are sent as they are published. */
  voices: Partial<Record<Voice, string>>;
  /** The pool in which files are examined and converted. */
  work: BoundedWork;
}

const title = 'The voice provider';

/** How long a file may wait until it is examined. */
const waitMs = 60_000;

const mimeTypes: Record<AudioFormat, string> = {
  mp3: 'audio/mpeg',
  mp4: 'audio/mp4',
  wav: 'audio/wav',
  webm: 'audio/webm',
};

/** Everything but a refused connection or rate may have been billed, so it is not tried again. */
function once(failure: ProviderFailure, { status, broken }: HttpExchange): ProviderFailure {
  const isUntaken = status === undefined ? broken !== undefined && !wasSent(broken) : status === 429;
  const { kind, message, retryAfterMs, requestId } = failure;
  const facts: FailureFacts = {
    retryable: failure.retryable && isUntaken,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(status !== undefined && { status }),
    ...(requestId !== undefined && { requestId }),
  };
  return new ProviderFailure(kind, message, facts);
}

type Model = { name: string };

/** Makes one call, within the time limit. @param form of its answer */
async function ask<Result>(
  { apiKey, baseUrl, timeoutMs }: VoiceOptions,
  { name }: Model,
  { signal }: Call,
  form: BodyForm,
  make: (client: OpenAI) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const { OpenAI } = await import('openai');
  const exchange = new HttpExchange(undefined, form);
  const client = new OpenAI({
    apiKey,
    baseURL: baseUrl,
    timeout: timeoutMs,
    maxRetries: 0,
    fetch: exchange.fetch,
    logLevel: 'off',
    // The defaults would be read from the environment.
    organization: null,
    project: null,
  });
  try {
    return await make(client);
  } catch (error) {
    signal.throwIfAborted();
    const model = { name, upstream: name };
    throw once(toProviderFailure(error, { provider: title, model, timeoutMs, exchange, apiKey }), exchange);
  }
}

/** Makes the file of an answer MP3, and measures it. */
async function finish(work: BoundedWork, tenantKey: TenantKey, bytes: Buffer): Promise<MadeSpeech> {
  const { path: folder, discard } = await openWorkFolder();
  try {
    const [path, output] = [join(folder, 'fetched'), join(folder, 'speech.mp3')];
    await writeFile(path, bytes);
    const finishing = { kind: 'sound' as const, path, output, maxPixels: 0, asCutOut: false };
    const finished = await work.run(finishOutput, tenantKey, finishing, { waitMs });
    if ('wrong' in finished) throw unusable(title, finished.wrong);
    return { path: finished.path, seconds: finished.seconds!, discard };
  } catch (error) {
    await discard();
    throw error instanceof WorkTooCostly ? unusable(title, 'cannot be examined') : error;
  }
}

/** Speech of OpenAI and of servers that speak its wire format. */
export const liveSpeechModel = (options: VoiceOptions): SpeechModel => ({
  async speak({ text, voice, speed }, call) {
    const model = { name: options.speechModel };
    const bytes = await ask(options, model, call, 'file', async (client) => {
      const request = {
        model: model.name,
        input: text,
        voice: options.voices[voice] ?? voice,
        response_format: 'mp3' as const,
        // Not every model knows the field.
        ...(speed !== 1 && { speed }),
      };
      const response = await client.audio.speech.create(request, { signal: call.signal });
      return Buffer.from(await response.arrayBuffer());
    });
    return finish(options.work, call.tenantKey, bytes);
  },
});

type Asked = OpenAI.Audio.TranscriptionCreateParamsNonStreaming;

const answer = z.object({
  text: z.string(),
  language: z.string().nullish(),
  languages: z.array(z.object({ code: z.string() })).nullish(),
});

/** Only Whisper's long form returns the detected language; the newer models have no long form. */
const formOf = (model: string) => (/^whisper/.test(model) ? 'verbose_json' : 'json');

function transcriptOf(said: unknown, asked: string | undefined): Transcript {
  const { text, language, languages } = answer.parse(said);
  const named = [language, languages?.[0]?.code].find(Boolean);
  return { text: cleanText(text), language: (named && languageCode(named)) || asked || 'en' };
}

/** Transcriptions of OpenAI and of servers that speak its wire format. */
export const liveTranscriptionModel = (options: VoiceOptions): TranscriptionModel => ({
  async transcribe({ path, format, language, prompt }, call) {
    const model = { name: options.transcriptionModel };
    return ask(options, model, call, 'json', async (client) => {
      // Read while it is sent, and not as a whole.
      const type = mimeTypes[format];
      const file = new File([await openAsBlob(path, { type })], `recording.${format}`, { type });
      const request: Asked = {
        model: model.name,
        file,
        response_format: formOf(model.name),
        ...(language && { language }),
        ...(prompt && { prompt }),
      };
      return transcriptOf(await client.audio.transcriptions.create(request, { signal: call.signal }), language);
    });
  },
});
