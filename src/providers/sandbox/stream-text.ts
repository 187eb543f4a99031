import type { Call } from '../ports.ts';
import { pause } from './requested.ts';

/** Parts of a text that is streamed. */
const pieces = 4;

/** The parts of a text, divided between code points. */
function piecesOf(text: string): string[] {
  const characters = [...text];
  const size = Math.ceil(characters.length / pieces);
  return Array.from({ length: pieces }, (_, n) => characters.slice(n * size, (n + 1) * size).join(''));
}

/** Streams a text in parts. Half of the time passes between them. */
export async function streamText(text: string, seconds: number, { onDelta, signal }: Call): Promise<void> {
  for (const [n, piece] of piecesOf(text).entries()) {
    if (n > 0 && seconds > 0) await pause(seconds / 2 / (pieces - 1), signal);
    if (piece !== '') onDelta!(piece);
  }
}
