const maxLength = 2_000;
/** What browsers drop from addresses, and the second slash of theirs. */
const unsafe = /[\p{Cc}\s\\]/u;

/**
 * Where a person goes after signing in: a path of our own origin, whatever a link requests.
 * @param text the path with its query, as the link has it
 * @returns undefined for everything that could lead elsewhere
 */
export function ownPath(text: string | undefined): string | undefined {
  if (text === undefined || text.length > maxLength || !text.startsWith('/') || unsafe.test(text)) return undefined;
  const own = 'http://own.invalid';
  const url = URL.parse(text, own);
  if (url?.origin !== own) return undefined;
  // Segments of dots are resolved, and the result must not name a host.
  return url.pathname.startsWith('//') ? undefined : url.pathname + url.search;
}
