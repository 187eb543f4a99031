const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** Codes of ISO 639-1 by the English names of languages. */
const codes = new Map(
  letters
    .flatMap((first) => letters.map((second) => first + second))
    .flatMap((code) => {
      const name = names.of(code)?.toLowerCase();
      // Withdrawn codes have the names of their successors.
      return name && Intl.getCanonicalLocales(code)[0] === code ? [[name, code] as const] : [];
    }),
);

/**
 * The code of a language as a provider reports it: `de`, `de-DE` or `German`.
 * @returns two letters in lower case; undefined for anything else
 */
export function languageCode(named: string): string | undefined {
  const text = named.trim().toLowerCase();
  const [, code] = /^([a-z]{2})(?:[-_].*)?$/.exec(text) ?? [];
  return code ?? codes.get(text);
}
