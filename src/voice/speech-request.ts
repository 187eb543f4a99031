import type { FieldError } from '../platform/errors.ts';
import { speechLimits, type Voice, voices } from '../providers/core/speech/voices.ts';
import type { SpeechRequest } from '../providers/index.ts';
import { speechPrice } from './core/prices.ts';
import { refused } from './errors.ts';

const { codePoints: maxCharacters, speed: pace } = speechLimits;

export const speechDefaults = { voice: 'alloy', speed: 1 } as const satisfies { voice: Voice; speed: number };

/** The characters of a text as they are counted and paid: code points. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const isVoice = (value: unknown): value is Voice => (voices as readonly unknown[]).includes(value);
const isSpeed = (value: unknown): value is number =>
  typeof value === 'number' && value >= pace.min && value <= pace.max;

function* problemsIn({ text, voice, speed }: Record<string, unknown>): Generator<FieldError> {
  if (typeof text !== 'string' || text.trim() === '') yield { path: 'text', message: 'Text is required' };
  else if (charactersOf(text) > maxCharacters) yield { path: 'text', message: 'Text too long' };
  if (voice !== undefined && !isVoice(voice)) yield { path: 'voice', message: 'Invalid voice' };
  if (speed !== undefined && !isSpeed(speed)) yield { path: 'speed', message: 'Invalid speed' };
}

/** What cannot be spoken, in the published order and with the published sentences. */
export const problemsOfSpeech = (body: Record<string, unknown>): FieldError[] => [...problemsIn(body)];

/** @throws AppError validation_error with the first published sentence */
export function checkSpeech(body: Record<string, unknown>): void {
  const [first] = problemsIn(body);
  if (first) throw refused(first.message);
}

/** A body in which `checkSpeech` found nothing. */
export const readSpeech = ({
  text,
  voice = speechDefaults.voice,
  speed = speechDefaults.speed,
}: {
  text: string;
  voice?: Voice | undefined;
  speed?: number | undefined;
}): SpeechRequest => ({ text, voice, speed });

/** In credits. */
export const priceOfSpeech = ({ text }: SpeechRequest): number => speechPrice(charactersOf(text));
