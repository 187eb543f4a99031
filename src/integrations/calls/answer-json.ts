import { readJson } from '../../platform/core/bounded-json.ts';

/** Escapes of NUL, which PostgreSQL does not accept, and of surrogates, which may be unpaired. */
const suspicious = /\\u(?:0000|d[89a-f])/i;

const clean = (text: string) => text.replaceAll('\0', '').toWellFormed();

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [clean(name), cleaned(member)]));
}

/**
 * The JSON of a provider's answer. Characters that the database does not accept are left out.
 * @returns undefined for what is no JSON, and for what is more than is read
 */
export function readAnswer(body: Buffer, maxBytes: number): unknown {
  const value = readJson(body, maxBytes);
  return suspicious.test(body.toString('latin1')) ? cleaned(value) : value;
}
