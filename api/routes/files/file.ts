import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../src/services.ts';
import { readRange } from '../../../src/storage/core/byte-range.ts';
import { downloadName } from '../../../src/storage/files.ts';
import type { FileRecord } from '../../../src/storage/ports.ts';
import { attributeAnswer } from '../../answer-headers.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { publicFailures } from '../../schemas/answers.ts';
import {
  fileFailures,
  fileInPath,
  fileNotFound,
  outOfRange,
  partOfFile,
  refusedAddress,
  signedParameters,
  unchangedFile,
  wholeFile,
} from '../../schemas/files/file.ts';

/** The value of a parameter that is given once. */
function only(c: ApiContext, name: string): string | undefined {
  const values = c.req.queries(name);
  return values?.length === 1 ? values[0] : undefined;
}

const eTagOf = ({ sha256 }: FileRecord) => `"${sha256.toString('base64url')}"`;

/** Whether a list of entity tags, as If-None-Match sends one, names this one. */
const names = (list: string | undefined, eTag: string) =>
  list !== undefined && (list.trim() === '*' || list.split(',').some((one) => one.trim().replace(/^W\//, '') === eTag));

/** The part to send: a range counts only where If-Range does not say that it is of another file. */
function rangeOf(c: ApiContext, { bytes }: FileRecord, eTag: string) {
  const ifRange = c.req.header('if-range');
  return ifRange === undefined || ifRange === eTag ? readRange(c.req.header('range'), bytes) : 'whole';
}

/** The headers that make any file harmless in a browser, and let other pages show it. */
const ofContent = {
  'Accept-Ranges': 'bytes',
  'Content-Security-Policy': 'sandbox',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

/** Files at signed addresses, without a key. */
export function fileRoutes({ files, signedUrls, downloads }: Services): OpenAPIHono<ApiEnv> {
  const get = createRoute({
    method: 'get',
    path: '/{name}',
    tags: ['Files'],
    security: [],
    operationId: 'getFile',
    'x-client-method': 'files.get',
    summary: 'Retrieve a file',
    description:
      'Addresses of files come with the answers of other operations, signed and for a limited time; read the record again for a fresh one. HEAD, conditional requests and ranges work as for any file on the web.',
    request: { params: fileInPath },
    parameters: signedParameters,
    responses: {
      200: wholeFile,
      206: partOfFile,
      304: unchangedFile,
      ...fileFailures,
      ...publicFailures(503),
    },
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { name } = c.req.valid('param');
    // Nothing is read or required before the signature is verified.
    const secondsLeft = signedUrls.verify({ name, expires: only(c, 'expires'), signature: only(c, 'signature') });
    if (secondsLeft === undefined) throw refusedAddress();
    const file = await files.find(name);
    if (!file) throw fileNotFound(name);
    attributeAnswer(c, file.organizationId);
    const eTag = eTagOf(file);
    const ofAnswer = { ETag: eTag, 'Cache-Control': `private, immutable, max-age=${secondsLeft}` };
    if (names(c.req.header('if-none-match'), eTag)) return c.body(null, 304, ofAnswer);
    const range = rangeOf(c, file, eTag);
    if (range === 'unsatisfiable') {
      c.header('Content-Range', `bytes */${file.bytes}`);
      throw outOfRange(file.bytes);
    }
    const outgoing = c.env?.outgoing;
    const download = await downloads.open(file, range === 'whole' ? undefined : range, {
      address: limitedRange(c.get('clientAddress')()),
      abort: () => outgoing?.destroy(),
    });
    if (!download) throw fileNotFound(name);
    // A client that has disconnected meanwhile emits no further `close`.
    if (outgoing?.destroyed) download.close();
    outgoing?.once('close', () => download.close());
    const { first, last } = range === 'whole' ? { first: 0, last: file.bytes - 1 } : range;
    const headers = {
      ...ofAnswer,
      ...ofContent,
      'Content-Type': file.contentType,
      'Content-Length': String(last - first + 1),
      'Content-Disposition': `inline; filename="${downloadName(file)}"`,
      ...(range !== 'whole' && { 'Content-Range': `bytes ${first}-${last}/${file.bytes}` }),
    };
    const status = range === 'whole' ? 200 : 206;
    if (c.req.method !== 'HEAD') return c.body(download.body, status, headers);
    download.close();
    return c.body(null, status, headers);
  });
  return routes;
}
