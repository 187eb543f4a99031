import { shortened } from '../src/platform/core/shortened.ts';

/** Maximum size of an answer in JSON. */
export const maxAnswerBytes = 2 * 1024 * 1024;
/** A character takes at most six bytes, as an escape does. */
const maxBytesOfCharacter = 6;
/** Bytes of the envelope around an answer. */
const envelopeBytes = 64;

type Members = Record<string, unknown>;

/** A part of an answer that a smaller value can replace. */
export interface Replaceable {
  holder: Members;
  /** Size of the part as JSON. */
  bytes: number;
  /** Members of the holder in place of the part. */
  replacement: Members;
}

/** Whether a value surely takes less than so many bytes. Stops as soon as it is not sure. */
function isSmall(value: unknown, maxBytes: number): boolean {
  let left = maxBytes;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    left -= maxBytesOfCharacter;
    if (typeof next === 'string') left -= next.length * maxBytesOfCharacter;
    else if (Array.isArray(next)) for (const item of next) pending.push(item);
    else if (typeof next === 'object' && next !== null) {
      for (const name in next) {
        left -= (name.length + 4) * maxBytesOfCharacter;
        pending.push((next as Members)[name]);
      }
    } else left -= 24;
    if (left < 0) return false;
  }
  return true;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * An answer of at most 2 MiB: its largest replaceable parts are replaced, until it fits. What cannot be replaced stays.
 * @param replaceable the parts, asked for only where the answer is too large; their holders are changed
 * @param maxBytes where less fits
 */
export function fitAnswer<Answer extends object>(
  answer: Answer,
  replaceable: () => Replaceable[],
  maxBytes = maxAnswerBytes,
): Answer {
  if (isSmall(answer, maxBytes)) return answer;
  let bytes = bytesOf(answer) + envelopeBytes;
  if (bytes <= maxBytes) return answer;
  for (const { holder, bytes: size, replacement } of replaceable().toSorted((one, other) => other.bytes - one.bytes)) {
    Object.assign(holder, replacement);
    bytes += bytesOf(replacement) - size;
    if (bytes <= maxBytes) break;
  }
  return answer;
}

/** A smaller value is not replaced: its reference would take as much. */
const minReferredBytes = 512;

/** A member that a reference can replace, if it is large enough. */
export function referred(
  holder: Members,
  name: string,
  reference: (bytes: number, text: string) => object | undefined,
) {
  const text = JSON.stringify(holder[name]) as string | undefined;
  const bytes = text === undefined ? 0 : Buffer.byteLength(text);
  const found = bytes < minReferredBytes ? undefined : reference(bytes, text!);
  return found ? [{ holder, bytes, text: text!, reference: found, replacement: { [name]: found } }] : [];
}

/** Texts in an answer: the members of a name. */
export interface Texts {
  holders: readonly object[];
  name: string;
}

/**
 * An answer of at most 2 MiB, most of which is text: a larger one is cut, to the first of these lengths with which it
 * fits. Other parts stay.
 * @param lengths characters, falling
 */
export function cutTexts<Answer extends object>(
  answer: Answer,
  texts: readonly Texts[],
  lengths: readonly number[],
): Answer {
  if (isSmall(answer, maxAnswerBytes)) return answer;
  for (const max of lengths) {
    if (bytesOf(answer) + envelopeBytes <= maxAnswerBytes) break;
    for (const { holders, name } of texts) {
      for (const holder of holders as Record<string, string>[]) holder[name] = shortened(holder[name]!, max);
    }
  }
  return answer;
}
