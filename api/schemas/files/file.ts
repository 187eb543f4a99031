import { z } from '@hono/zod-openapi';
import { AppError } from '../../../src/platform/errors.ts';
import { fileNamePattern, servedTypes } from '../../../src/storage/core/file-types.ts';
import { ownFailure } from '../failures.ts';
import { headersOf, onAll } from '../headers.ts';

const exampleName = '3q2-7wAB_cdEFghIJklMNopQRstUVwxYZ0123456789.png';

export const fileInPath = z.object({
  name: z.string().openapi({
    param: { name: 'name', in: 'path', example: exampleName },
    pattern: fileNamePattern.source,
    description: 'The name of the file.',
  }),
});

const text = (pattern: string) => ({ type: 'string', pattern }) as const;

/** Problems with them are answered with 403, so no schema refuses them. */
export const signedParameters = [
  {
    name: 'expires',
    in: 'query' as const,
    description: 'Until when the address holds, in Unix seconds.',
    schema: text('^\\d{1,12}$'),
  },
  {
    name: 'signature',
    in: 'query' as const,
    description: 'The signature of name and time.',
    schema: text('^[A-Za-z0-9_-]{43}$'),
  },
  {
    name: 'Range',
    in: 'header' as const,
    description: 'One range of bytes. Several ranges and malformed ones are ignored.',
    schema: text('^bytes=\\d{0,9}-\\d{0,9}$'),
  },
  {
    name: 'If-None-Match',
    in: 'header' as const,
    description: 'The ETag of the file that you have.',
    schema: text('^"[A-Za-z0-9_-]{43}"$'),
  },
];

const header = (description: string, example: string, pattern?: string) => ({
  description,
  required: true,
  schema: pattern === undefined ? { type: 'string' as const } : text(pattern),
  example,
});

const eTag = header(
  'The SHA-256 of the file.',
  '"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"',
  '^"[A-Za-z0-9_-]{43}"$',
);
const cacheControl = header('The client may keep it until the address ends.', 'private, immutable, max-age=86400');

const ofFile = {
  ...headersOf(onAll),
  ETag: eTag,
  'Cache-Control': cacheControl,
  'Accept-Ranges': header('Ranges of bytes can be requested.', 'bytes'),
  'Content-Disposition': header('The name under which browsers save it.', 'inline; filename="gen_0199.png"'),
  'Cross-Origin-Resource-Policy': header('Pages of other origins may show it.', 'cross-origin'),
};

const contentRange = header('Where the part stands in the file.', 'bytes 0-99/1234', '^bytes \\d+-\\d+/\\d+$');

const content = Object.fromEntries(
  Object.values(servedTypes).map((type) => [
    type,
    {
      schema: z.string().openapi({ format: 'binary' }),
      examples: { bytes: { summary: 'Example', value: '(the bytes of the file)' } },
    },
  ]),
);

export const wholeFile = { description: 'Returns the file.', headers: ofFile, content };
export const partOfFile = {
  description: 'Returns the part of the file that the header Range names.',
  headers: { ...ofFile, 'Content-Range': contentRange },
  content,
};
export const unchangedFile = {
  description: 'The client has the file already.',
  headers: { ...headersOf(onAll), ETag: eTag, 'Cache-Control': cacheControl },
};

export const refusedAddress = () => new AppError('forbidden', 'The address of the file is not valid, or has expired.');
export const fileNotFound = (name: string) => new AppError('not_found', 'The file no longer exists.', { name });
export const outOfRange = (bytes: number) =>
  new AppError('range_not_satisfiable', `The file has ${bytes} bytes, none of which is in the range.`, { bytes });

const unsatisfied = ownFailure('Nothing of the file is in the range.', outOfRange(1234));

export const fileFailures = {
  403: ownFailure('The signature is missing, changed or ended.', refusedAddress()),
  404: ownFailure('The file no longer exists.', fileNotFound(exampleName)),
  416: {
    ...unsatisfied,
    headers: {
      ...unsatisfied.headers,
      'Content-Range': header('The length of the file.', 'bytes */1234', '^bytes \\*/\\d+$'),
    },
  },
};
