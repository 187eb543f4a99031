import { isUtf8 } from 'node:buffer';
import { readJson } from '../../../platform/core/bounded-json.ts';
import type { Hide } from './hide-secrets.ts';
import { type HttpAnswer, maxAnswerBytes } from './http-sender.ts';

/** The body of an answer as a step has it: JSON, a text, or base64. */
export interface ReadBody {
  body: unknown;
  encoding?: 'base64';
}

const json = /^application\/([\w.-]+\+)?json$/;
const charsetOf = /;\s*charset="?([\w-]+)"?/i;

function textOf(bytes: Buffer, type: string): string | undefined {
  if (isUtf8(bytes)) return bytes.includes(0) ? undefined : bytes.toString('utf8').replace(/^\ufeff/, '');
  const [, charset] = charsetOf.exec(type) ?? [];
  if (charset === undefined) return undefined;
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Parses a body whose type is JSON; one that is malformed or too complex stays a text. Null where there is none.
 * @param hide takes the secrets out
 */
export function readBody({ headers, body }: Pick<HttpAnswer, 'headers' | 'body'>, hide: Hide): ReadBody {
  if (body.length === 0) return { body: null };
  const type = headers['content-type'] ?? '';
  const [essence = ''] = type.split(';', 1);
  const parsed = json.test(essence.trim().toLowerCase()) ? readJson(body, maxAnswerBytes) : undefined;
  if (parsed !== undefined) return { body: hide(parsed) };
  const text = textOf(body, type);
  if (text !== undefined) return { body: hide(text) };
  const hidden = Buffer.from(hide(body.toString('latin1')), 'latin1');
  return { body: hidden.toString('base64'), encoding: 'base64' };
}
