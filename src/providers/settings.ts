import { z } from 'zod';
import { foreignKey, httpUrl, url } from '../platform/env-types.ts';
import { voices } from './core/speech/voices.ts';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON: a published voice and the provider's name of it. */
const voiceNames = z
  .string()
  .transform(parseJson)
  .pipe(z.partialRecord(z.enum(voices), z.string().min(1).max(200)));

/** Credentials and addresses of the model providers. */
export const providerSettings = {
  shape: {
    ANTHROPIC_API_KEY: foreignKey.optional(),
    ANTHROPIC_BASE_URL: url.optional(),
    OPENAI_API_KEY: foreignKey.optional(),
    OPENAI_BASE_URL: url.optional(),
    GOOGLE_API_KEY: foreignKey.optional(),
    GOOGLE_BASE_URL: url.optional(),
    FAL_KEY: foreignKey.optional(),
    FAL_QUEUE_URL: httpUrl.default('https://queue.fal.run'),
    FAL_JWKS_URL: httpUrl.default('https://rest.alpha.fal.ai/.well-known/jwks.json'),
    RUNWAY_API_KEY: foreignKey.optional(),
    RUNWAY_BASE_URL: httpUrl.default('https://api.dev.runwayml.com'),
    VOICE_API_KEY: foreignKey.optional(),
    VOICE_BASE_URL: httpUrl.optional(),
    VOICE_TTS_MODEL: z.string().min(1).max(200).default('tts-1'),
    VOICE_STT_MODEL: z.string().min(1).max(200).default('gpt-transcribe'),
    VOICE_NAMES: voiceNames.optional(),
    MODEL_ALIASES: z.string().optional(),
    MEDIA_ALIASES: z.string().optional(),
    MODEL_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(580).default(540),
  },
};
