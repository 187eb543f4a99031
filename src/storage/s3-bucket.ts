import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { GetObjectCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { S3Driver } from 'flydrive/drivers/s3';
import type { ByteRange } from './core/byte-range.ts';
import { contentTypes, typeOf } from './core/file-types.ts';
import type { Disk, Spooled } from './ports.ts';
import type { BucketSettings } from './settings.ts';

const connectMs = 5_000;
/** A bucket that sends or takes nothing for this long is given up. */
const silenceMs = 30_000;
/** Readers of files hold a connection as long as they read; their number is limited before they come here. */
const maxSockets = 2_000;

/** What goes wrong is thrown; the SDK would also write it to the console. */
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Files in a bucket of an S3-compatible service. An object appears when all of it has arrived: S3 itself is atomic. */
export class S3Bucket implements Disk {
  readonly #settings: BucketSettings;
  readonly #client: S3Client;
  readonly #driver: S3Driver;

  constructor(settings: BucketSettings, { silence = silenceMs }: { silence?: number } = {}) {
    this.#settings = settings;
    const { bucket, region, endpoint, credentials, forcePathStyle } = settings;
    this.#client = new S3Client({
      region,
      forcePathStyle,
      ...(endpoint && { endpoint }),
      ...(credentials && { credentials }),
      logger: silent,
      // The newer checksums, which not every service knows, are left out; each object is sent with its SHA-256.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: connectMs,
        socketTimeout: silence,
        httpAgent: { maxSockets },
        httpsAgent: { maxSockets },
      },
    });
    this.#driver = new S3Driver({ client: this.#client, bucket, visibility: 'private', supportsACL: false });
  }

  async put(name: string, { path, bytes, sha256 }: Spooled): Promise<void> {
    const options = { contentType: contentTypes[typeOf(name)], ChecksumSHA256: sha256.toString('base64') };
    // A stream needs a length, and the driver takes 0 for none.
    if (bytes === 0) return this.#driver.put(this.#keyOf(name), new Uint8Array(), options);
    const content = createReadStream(path);
    try {
      await this.#driver.putStream(this.#keyOf(name), content, { ...options, contentLength: bytes });
    } finally {
      // The driver leaves the file open when a request fails before all of it was read.
      content.destroy();
    }
  }

  // The driver reads whole objects only.
  async open(name: string, range: ByteRange | undefined): Promise<Readable | undefined> {
    try {
      const { Body } = await this.#client.send(
        new GetObjectCommand({
          Bucket: this.#settings.bucket,
          Key: this.#keyOf(name),
          ...(range && { Range: `bytes=${range.first}-${range.last}` }),
        }),
      );
      return Body as Readable;
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey') return undefined;
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#driver.delete(this.#keyOf(name));
  }

  async check(): Promise<void> {
    const { bucket: Bucket } = this.#settings;
    try {
      await this.#client.send(new HeadBucketCommand({ Bucket }));
    } catch (error) {
      const { httpStatusCode } = (error as { $metadata?: { httpStatusCode?: number } }).$metadata ?? {};
      // The answer to a HEAD request has no body with the reason.
      if (httpStatusCode === 404) throw new Error(`There is no bucket ${Bucket}.`);
      if (httpStatusCode === 403) throw new Error(`The credentials may not use the bucket ${Bucket}.`);
      throw error;
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #keyOf(name: string): string {
    const { prefix } = this.#settings;
    return prefix === '' ? name : `${prefix}/${name}`;
  }
}
