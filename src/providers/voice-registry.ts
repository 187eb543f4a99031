import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import { liveSpeechModel, liveTranscriptionModel, type VoiceOptions } from './live/voice-models.ts';
import type { ProviderEnv } from './live.ts';
import { sandboxSpeechModel, sandboxTranscriptionModel } from './sandbox/speech/voice-models.ts';
import type { SpeechModel, TranscriptionModel } from './voice-ports.ts';

/** Of one call. The longest is a transcription of 30 minutes. */
const timeoutMs = 120_000;

interface VoiceModels {
  speech: SpeechModel;
  transcription: TranscriptionModel;
}

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface VoiceRegistry {
  /** @throws AppError provider_not_configured, with facts `{provider}` */
  speechModel(environment: Environment): SpeechModel;
  /** As speechModel. */
  transcriptionModel(environment: Environment): TranscriptionModel;
}

function liveModels(env: ProviderEnv, work: BoundedWork): VoiceModels | undefined {
  const apiKey = env.VOICE_API_KEY ?? env.OPENAI_API_KEY;
  if (apiKey === undefined) return undefined;
  const baseUrl = env.VOICE_BASE_URL ?? env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
  const options: VoiceOptions = {
    ...{ apiKey, timeoutMs, work, baseUrl: baseUrl.replace(/\/+$/, '') },
    ...{ speechModel: env.VOICE_TTS_MODEL, transcriptionModel: env.VOICE_STT_MODEL },
    voices: env.VOICE_NAMES ?? {},
  };
  return { speech: liveSpeechModel(options), transcription: liveTranscriptionModel(options) };
}

/**
 * @param work the pool in which files are made and examined
 */
export function openVoices(env: ProviderEnv, work: BoundedWork): VoiceRegistry {
  const models: Record<Environment, VoiceModels | undefined> = {
    test: { speech: sandboxSpeechModel(work), transcription: sandboxTranscriptionModel(work) },
    live: liveModels(env, work),
  };
  const find = (environment: Environment): VoiceModels => {
    const found = models[environment];
    if (found) return found;
    throw new AppError('provider_not_configured', 'The provider of voice is not configured.', { provider: 'VOICE' });
  };
  return {
    speechModel: (environment) => find(environment).speech,
    transcriptionModel: (environment) => find(environment).transcription,
  };
}
