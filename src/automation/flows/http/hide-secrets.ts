import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** The replacement of a secret. */
export const hiddenSecret = '[secret]';

/** Shorter ones would replace what only looks like them. */
const minHiddenLength = 8;

/** Looking through a text of more characters takes milliseconds: the work pauses for others before the next look. */
const longText = 64 * 1024;

export type Hide = <Value>(value: Value) => Promise<Value>;

/** The texts by which an answer can repeat a secret: as it was sent, in JSON, and in a URL. */
function formsOf(secret: string): string[] {
  const sent = secret.trim();
  return [sent, Buffer.from(sent).toString('latin1'), JSON.stringify(sent).slice(1, -1), encodeURIComponent(sent)];
}

/** A JSON value with its texts changed, names of members included. */
function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [change(name), withTexts(item, change)]));
}

/**
 * Replaces secrets in every text of a JSON value, names of members included.
 * @param secrets those of 8 characters and more are replaced
 */
export function hideSecrets(secrets: Iterable<string>): Hide {
  const all = [...secrets].filter((secret) => secret.trim().length >= minHiddenLength).flatMap(formsOf);
  // A secret that contains another one is replaced first.
  const forms = [...new Set(all)].toSorted((one, other) => other.length - one.length);
  if (forms.length === 0) return async (value) => value;
  const inText = async (text: string) => {
    let hidden = text;
    for (const form of forms) {
      hidden = hidden.replaceAll(form, hiddenSecret);
      if (text.length > longText) await yieldToEventLoop();
    }
    return hidden;
  };
  return (async (value: unknown) => {
    if (typeof value === 'string') return inText(value);
    // All texts are searched together, because each search costs far more than a short text. The text between them
    // cannot be guessed, and no header has a NUL.
    const between = `\0${randomUUID()}\0`;
    const texts: string[] = [];
    withTexts(value, (text) => {
      texts.push(text);
      return text;
    });
    const hidden = (await inText(texts.join(between))).split(between);
    let next = 0;
    return withTexts(value, () => hidden[next++]!);
  }) as Hide;
}
