import { setTimeout as sleep } from 'node:timers/promises';
import { createMiddleware } from 'hono/factory';
import { JsonRefused, parseJson } from '../../src/platform/core/bounded-json.ts';
import { CollectedBytes, PieceCount } from '../../src/platform/egress/collected-bytes.ts';
import { AppError, invalid } from '../../src/platform/errors.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import { chooseDialect } from '../dialects/choose-dialect.ts';
import { continueBody, isAwaitingContinue } from '../requests/expect-continue.ts';
import { scanJson } from '../requests/json-scan.ts';

const usualMaxBytes = 1024 * 1024;
/** The content types of a JSON body. */
export const jsonType = /^application\/json(?:\s*;\s*charset=("?)utf-8\1)?\s*$/i;
const yamlType = /^application\/yaml(?:\s*;\s*charset=("?)utf-8\1)?\s*$/i;
/** The content type of a browser's beacon. */
const textType = /^text\/plain(?:\s*;\s*charset=("?)utf-8\1)?\s*$/i;

const unsupported = (message: string) => new AppError('unsupported_media_type', message);
const tooLarge = (maxBytes: number) =>
  new AppError('payload_too_large', `The body is larger than ${maxBytes} bytes.`, { maxBytes });

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** How much of a refused body is read, and for how long. */
const linger = { bytes: 16 * 1024 * 1024, ms: 250 };

/**
 * Reads and discards the rest of a body, within limits. A connection that is closed with unread bytes is reset, and the
 * client may see the reset in place of the answer (RFC 9112, 9.6).
 */
async function discardRest(reader: BodyReader | undefined): Promise<void> {
  const over = sleep(linger.ms, undefined, { ref: false });
  for (let left = linger.bytes; reader && left > 0; ) {
    const chunk = await Promise.race([reader.read().catch(() => undefined), over]);
    if (!chunk?.value) return;
    left -= chunk.value.byteLength;
  }
}

/**
 * Reads at most `maxBytes`, whatever Content-Length says.
 * @param count is called with the size of each chunk before it is kept
 * @throws AppError payload_too_large; validation_error for a body in too many small pieces; what `count` throws
 */
export async function readBytes(c: ApiContext, maxBytes: number, count?: (bytes: number) => void): Promise<Buffer> {
  const collected = new CollectedBytes();
  const pieces = new PieceCount();
  // Not `for await`: leaving that early would close the connection under the answer.
  const reader: BodyReader | undefined = c.req.raw.body?.getReader();
  const refuse = async () => {
    // A client that still waits for 100 Continue has sent nothing.
    if (!isAwaitingContinue(c.env.outgoing)) await discardRest(reader);
    throw tooLarge(maxBytes);
  };
  if (Number(c.req.header('content-length') ?? 0) > maxBytes) await refuse();
  continueBody(c.env.outgoing);
  while (reader) {
    const { value } = await reader.read().catch(() => {
      // The client closed the connection and does not read this answer.
      throw invalid([{ path: '', message: 'The body is incomplete.' }]);
    });
    if (!value) break;
    if (collected.size + value.byteLength > maxBytes) await refuse();
    count?.(value.byteLength);
    if (!pieces.add(value.byteLength)) {
      // Nothing more of it is read: the connection ends with the answer.
      c.header('Connection', 'close');
      throw invalid([{ path: '', message: 'The body is sent in too many small pieces.' }]);
    }
    collected.add(value);
  }
  return collected.bytes();
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid([{ path: '', message: 'The body is not valid UTF-8.' }]);
  }
}

/** @throws AppError validation_error */
function parse(text: string, maxBytes: number): unknown {
  const refuse = (message: string) => invalid([{ path: '', message }]);
  let body: unknown;
  try {
    body = parseJson(text, maxBytes);
  } catch (error) {
    throw error instanceof JsonRefused ? refuse(`The body ${error.fault}.`) : error;
  }
  const problem = scanJson(text);
  if (problem) throw refuse(problem);
  return body;
}

export interface JsonBodyOptions {
  /** An absent body is read as `{}`. */
  optional?: boolean;
  /** The dialect that a body belongs to, where its fields decide it. */
  variantOf?: (body: unknown) => Variant | undefined;
  /** 1 MiB unless given. */
  maxBytes?: number;
  /** JSON sent as text/plain is accepted too. */
  asText?: boolean;
  /** Makes JSON of a body sent as application/yaml, which is refused without it. */
  readYaml?: ((c: ApiContext, text: string) => Promise<string>) | undefined;
}

/** Reads, limits and checks a JSON body before any schema sees it. */
export const jsonBody = (options: JsonBodyOptions = {}) => {
  const { optional = false, variantOf, maxBytes = usualMaxBytes, asText = false, readYaml } = options;
  const wanted = `Send the body as application/json${readYaml === undefined ? '' : ' or application/yaml'}.`;
  const isAccepted = (type: string) =>
    jsonType.test(type) || (asText && textType.test(type)) || (readYaml !== undefined && yamlType.test(type));
  return createMiddleware<ApiEnv>(async (c, next) => {
    if (c.req.header('content-encoding')) throw unsupported('Content-Encoding is not accepted.');
    const type = c.req.header('content-type');
    if (type !== undefined && !isAccepted(type)) throw unsupported(wanted);
    const bytes = await readBytes(c, maxBytes);
    if (bytes.length > 0 && type === undefined) throw unsupported(wanted);
    const sent = bytes.length === 0 && optional ? '{}' : decode(bytes);
    const text = readYaml && type !== undefined && yamlType.test(type) ? await readYaml(c, sent) : sent;
    const body = parse(text, maxBytes);
    c.set('body', body);
    // The validator then gets this value, which would cost as much as the rest to parse again. It refuses a body without a
    // content type, so an absent body stays absent. The cache holds promises, although its declared type says otherwise.
    c.req.bodyCache.text = Promise.resolve(type === undefined ? '' : text) as unknown as string;
    c.req.json = () => Promise.resolve(body) as Promise<never>;
    if (variantOf) {
      const signs = { header: c.req.header('x-api-variant'), path: c.req.path };
      c.set('dialect', chooseDialect({ ...signs, bodyVariant: variantOf(body), keyVariant: c.get('caller').variant }));
    }
    await next();
  });
};
