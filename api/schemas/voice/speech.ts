import { z } from '@hono/zod-openapi';
import { speechLimits, type Voice, voices } from '../../../src/providers/core/speech/voices.ts';
import type { SpeechRequest } from '../../../src/providers/speech/voice-ports.ts';
import { speechPrice } from '../../../src/voice/core/prices.ts';
import { refused } from '../../../src/voice/errors.ts';

const { codePoints: maxCharacters, speed: pace } = speechLimits;
const defaults = { voice: 'alloy', speed: 1 } as const satisfies { voice: Voice; speed: number };

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

/** The characters of a text as they are counted and paid: code points. */
export function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const isVoice = (value: unknown): value is Voice => (voices as readonly unknown[]).includes(value);
const isSpeed = (value: unknown): value is number =>
  typeof value === 'number' && value >= pace.min && value <= pace.max;

/** Refuses what cannot be said, in the published order and with the published sentences. @throws AppError */
export function checkSpeech({ text, voice, speed }: Record<string, unknown>): void {
  if (typeof text !== 'string' || text.trim() === '') throw refused('Text is required');
  if (charactersOf(text) > maxCharacters) throw refused('Text too long');
  if (voice !== undefined && !isVoice(voice)) throw refused('Invalid voice');
  if (speed !== undefined && !isSpeed(speed)) throw refused('Invalid speed');
}

export const readSpeech = ({
  text,
  voice = defaults.voice,
  speed = defaults.speed,
}: z.output<typeof speechSchema>): SpeechRequest => ({ text, voice, speed });

/** In credits. */
export const priceOfSpeech = ({ text }: SpeechRequest): number => speechPrice(charactersOf(text));
