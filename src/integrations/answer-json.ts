const maxDepth = 64;

/** Escapes of NUL, which PostgreSQL does not accept, and of surrogates, which may be unpaired. */
const suspicious = /\\u(?:0000|d[89a-f])/i;

const clean = (text: string) => text.replaceAll('\0', '').toWellFormed();

/** Depth-first, and never deeper than allowed: serializing deeper values could overflow the stack. */
function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === maxDepth) return false;
  return Object.values(value).every((member) => isShallow(member, depth + 1));
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [clean(name), cleaned(member)]));
}

/**
 * The JSON of a provider's answer. Characters that the database does not accept are left out.
 * @returns undefined for what is no JSON, and for what is nested deeper than 64 levels
 */
export function readAnswer(body: Buffer): unknown {
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isShallow(value)) return undefined;
  return suspicious.test(text) ? cleaned(value) : value;
}
