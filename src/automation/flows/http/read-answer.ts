import { isUtf8 } from 'node:buffer';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { readJson } from '../../../platform/core/bounded-json.ts';
import type { Hide } from './hide-secrets.ts';
import { type HttpAnswer, maxAnswerBytes } from './http-sender.ts';

/** The body of an answer as a step has it: JSON, a text, or base64. */
interface ReadBody {
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
 * Parses a body of a JSON type. A malformed or too complex body stays a text. Null without a body.
 * @param hide takes the secrets out
 */
export async function readBody({ headers, body }: Pick<HttpAnswer, 'headers' | 'body'>, hide: Hide): Promise<ReadBody> {
  if (body.length === 0) return { body: null };
  const type = headers['content-type'] ?? '';
  const [essence = ''] = type.split(';', 1);
  const parsed = json.test(essence.trim().toLowerCase()) ? readJson(body, maxAnswerBytes) : undefined;
  if (parsed !== undefined) {
    // Parsing megabytes takes as long as others should wait, and looking for secrets does again.
    await yieldToEventLoop();
    return { body: await hide(parsed) };
  }
  const text = textOf(body, type);
  if (text !== undefined) return { body: await hide(text) };
  const hidden = Buffer.from(await hide(body.toString('latin1')), 'latin1');
  return { body: hidden.toString('base64'), encoding: 'base64' };
}
