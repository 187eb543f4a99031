import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BucketSettings } from '../../src/storage/settings.ts';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();

/** What a bucket does instead of what it is asked: an error code of S3, silence, or half of an object. */
export type Trouble = 'AccessDenied' | 'NoSuchBucket' | 'SlowDown' | 'silence' | 'half';

export interface FakeBucket {
  settings: BucketSettings;
  /** By key, with the prefix. */
  objects: Map<string, { body: Buffer; type: string | undefined }>;
  /** `METHOD key` of each request with a good signature. */
  journal: string[];
  /** Answers that are under way. */
  sending: number;
  trouble: Trouble | undefined;
  close(): Promise<void>;
}

const statusOf: Record<string, number> = { NoSuchBucket: 404, NoSuchKey: 404, SlowDown: 503, BadDigest: 400 };

function refuse(response: ServerResponse, code: string): void {
  response.writeHead(statusOf[code] ?? 403, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>No.</Message></Error>`);
}

/** Whether the request is signed with this secret as AWS Signature Version 4 says, for S3. */
function isSigned({ method, url = '', headers }: IncomingMessage, secret: string): boolean {
  const [, day, region, names = '', given] =
    /^AWS4-HMAC-SHA256 Credential=\w+\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (!day || !region || !names.split(';').includes('host')) return false;
  const { pathname, searchParams } = new URL(url, 'http://host');
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const signedHeaders = names
    .split(';')
    .map((name) => `${name}:${String(headers[name]).trim()}\n`)
    .join('');
  const canonical = [method, pathname, query, signedHeaders, names, headers['x-amz-content-sha256']].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, toSign).toString('hex') === given;
}

/** A loopback server that speaks as much of S3 as the storage uses, checks signatures and checksums, and remembers. */
export async function startFakeBucket(): Promise<FakeBucket> {
  const objects: FakeBucket['objects'] = new Map();
  const journal: string[] = [];
  const credentials = { accessKeyId: 'AKIAFAKE', secretAccessKey: 'secret-of-the-fake-bucket' };

  function send(request: IncomingMessage, response: ServerResponse, body: Buffer, type = ''): void {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const part = from === undefined ? body : body.subarray(Number(from), Number(to) + 1);
    fake.sending++;
    response.on('close', () => fake.sending--);
    const range = from !== undefined && { 'content-range': `bytes ${from}-${to}/${body.length}` };
    response.writeHead(range ? 206 : 200, { 'content-type': type, 'content-length': part.length, ...range });
    if (fake.trouble !== 'half') return void response.end(part);
    response.write(part.subarray(0, part.length / 2), () => response.destroy());
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method, headers } = request;
    if (!isSigned(request, credentials.secretAccessKey)) return refuse(response, 'SignatureDoesNotMatch');
    const [, bucket, key = ''] = /^\/([^/]+)\/?(.*)$/.exec(new URL(request.url!, 'http://host').pathname) ?? [];
    journal.push(`${method} ${key}`);
    if (fake.trouble === 'silence') return;
    if (fake.trouble && fake.trouble !== 'half') return refuse(response, fake.trouble);
    if (bucket !== fake.settings.bucket) return refuse(response, 'NoSuchBucket');
    if (method === 'PUT') {
      const given = headers['x-amz-checksum-sha256'];
      const sent = headers['x-amz-content-sha256'];
      if (sent !== 'UNSIGNED-PAYLOAD' && sent !== sha256(body)) return refuse(response, 'BadDigest');
      if (given !== createHash('sha256').update(body).digest('base64')) return refuse(response, 'BadDigest');
      objects.set(key, { body, type: headers['content-type'] });
      response.writeHead(200).end();
      return;
    }
    if (method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204).end();
      return;
    }
    if (method === 'HEAD' && key === '') return void response.writeHead(200).end();
    const found = objects.get(key);
    if (method !== 'GET' || !found) return refuse(response, 'NoSuchKey');
    send(request, response, found.body, found.type);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: FakeBucket = {
    settings: {
      bucket: 'files',
      region: 'eu-central-1',
      endpoint,
      credentials,
      forcePathStyle: true,
      prefix: 'of/tests',
    },
    objects,
    journal,
    sending: 0,
    trouble: undefined,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}
