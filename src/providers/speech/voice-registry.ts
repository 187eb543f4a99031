import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { clock } from '../../platform/clock.ts';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { ProviderEnv } from '../registry.ts';
import { sandboxSpeechModel, sandboxTranscriptionModel } from '../sandbox/speech/voice-models.ts';
import { liveSpeechModel, liveTranscriptionModel, type VoiceOptions } from './live/voice-models.ts';
import type { SpeechModel, TranscriptionModel } from './voice-ports.ts';

/** Time limit of one call. The longest is a transcription of 30 minutes. */
const timeoutMs = 120_000;

/** When OpenAI will shut models of voice down. */
const sunsets: [RegExp, string][] = [
  [/^(tts-1|gpt-4o-mini-tts)/, '2027-01-06'],
  [/^(whisper-1|gpt-4o-.*transcribe)/, '2027-02-26'],
];
/** How long before that the log warns of it at start. */
const noticeMs = 60 * 24 * 3_600_000;

/** Warns about models that will soon be shut down, where the provider is OpenAI itself. */
function warnOfVoiceSunsets(env: ProviderEnv, log: Log): void {
  if ((env.VOICE_BASE_URL ?? env.OPENAI_BASE_URL) !== undefined) return;
  for (const variable of ['VOICE_TTS_MODEL', 'VOICE_STT_MODEL'] as const) {
    const [, sunsetAt] = sunsets.find(([pattern]) => pattern.test(env[variable])) ?? [];
    if (sunsetAt === undefined || Date.parse(sunsetAt) > clock.now() + noticeMs) continue;
    const message = `a model will be shut down: name another with ${variable}, or another provider with VOICE_BASE_URL`;
    log.warn({ name: env[variable], provider: 'VOICE', sunsetAt }, message);
  }
}

interface VoiceModels {
  speech: SpeechModel;
  transcription: TranscriptionModel;
  repeatable: boolean;
}

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface VoiceRegistry {
  /** @throws AppError provider_not_configured, with facts `{provider}` */
  speechModel(environment: Environment): SpeechModel;
  /** As speechModel. */
  transcriptionModel(environment: Environment): TranscriptionModel;
  /**
   * Whether a call may be made again when its outcome is not known, because no attempt is charged for. Throws as
   * speechModel.
   */
  isRepeatable(environment: Environment): boolean;
}

function liveModels(env: ProviderEnv, work: BoundedWork): VoiceModels | undefined {
  const apiKey = env.VOICE_API_KEY ?? env.OPENAI_API_KEY;
  if (apiKey === undefined) return undefined;
  const baseUrl = env.VOICE_BASE_URL ?? env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
  const options: VoiceOptions = {
    apiKey,
    timeoutMs,
    work,
    baseUrl: withoutSlash(baseUrl),
    speechModel: env.VOICE_TTS_MODEL,
    transcriptionModel: env.VOICE_STT_MODEL,
    voices: env.VOICE_NAMES ?? {},
  };
  return { speech: liveSpeechModel(options), transcription: liveTranscriptionModel(options), repeatable: false };
}

/** @param work the pool in which files are made and examined */
export function openVoices(env: ProviderEnv, log: Log, work: BoundedWork): VoiceRegistry {
  const models: Record<Environment, VoiceModels | undefined> = {
    test: { speech: sandboxSpeechModel(work), transcription: sandboxTranscriptionModel(work), repeatable: true },
    live: liveModels(env, work),
  };
  if (models.live) warnOfVoiceSunsets(env, log);
  const find = (environment: Environment): VoiceModels => {
    const found = models[environment];
    if (found) return found;
    throw new AppError('provider_not_configured', 'The provider of voice is not configured.', { provider: 'VOICE' });
  };
  return {
    speechModel: (environment) => find(environment).speech,
    transcriptionModel: (environment) => find(environment).transcription,
    isRepeatable: (environment) => find(environment).repeatable,
  };
}
