import { z } from '@hono/zod-openapi';
import { speechLimits, voices } from '../../../src/providers/core/speech/voices.ts';
import { speechDefaults as defaults } from '../../../src/voice/speech-request.ts';

const { codePoints: maxCharacters, speed: pace } = speechLimits;

/** Everything that it says is refused by `checkSpeech` before, in the published order and words. */
export const speechSchema = z
  .object({
    text: z
      .string()
      .regex(/\S/)
      .openapi({
        minLength: 1,
        maxLength: maxCharacters,
        pattern: '\\S',
        description: `The text to speak: at most ${maxCharacters.toLocaleString('en-US')} characters, not all of them blank.`,
      }),
    voice: z
      .enum(voices)
      .optional()
      .openapi({ description: `Default ${defaults.voice}.` }),
    speed: z
      .number()
      .min(pace.min)
      .max(pace.max)
      .optional()
      .openapi({ description: `Default ${defaults.speed}. The pitch of the voice stays.` }),
  })
  .openapi('SpeechRequest');

export const speechExamples = {
  A: { text: 'Hello from Atelier.' },
  BFast: { text: 'Hello from Atelier.', voice: 'nova' as const, speed: 1.5 },
};
