/** What stands in the place of a secret. */
export const hiddenSecret = '[secret]';

/** Shorter ones would replace what only looks like them. */
const minHiddenLength = 8;

export type Hide = <Value>(value: Value) => Value;

/** The texts by which an answer can repeat a secret: as it was sent, in JSON, and in a URL. */
function formsOf(secret: string): string[] {
  const sent = secret.trim();
  return [sent, Buffer.from(sent).toString('latin1'), JSON.stringify(sent).slice(1, -1), encodeURIComponent(sent)];
}

/**
 * Replaces secrets in every text of a JSON value, names of members included.
 * @param secrets those of 8 characters and more are replaced
 */
export function hideSecrets(secrets: Iterable<string>): Hide {
  const all = [...secrets].filter((secret) => secret.trim().length >= minHiddenLength).flatMap(formsOf);
  // A secret that contains another one is replaced first.
  const forms = [...new Set(all)].toSorted((one, other) => other.length - one.length);
  if (forms.length === 0) return (value) => value;
  const inText = (text: string) => forms.reduce((hidden, form) => hidden.replaceAll(form, hiddenSecret), text);
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.map(hide);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [inText(name), hide(item)]));
  };
  return hide as Hide;
}
