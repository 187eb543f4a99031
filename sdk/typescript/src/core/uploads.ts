import type { UploadSource } from './options.ts';

const encoder = new TextEncoder();

const isStream = (value: unknown): value is ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> =>
  typeof value === 'object' && value !== null && !(value instanceof Blob) && Symbol.asyncIterator in value;

/** A form that is ready to be sent. */
export interface PreparedForm {
  body: unknown;
  /** How it is written, where the generated way does not do: a form with a stream. */
  bodySerializer?: (body: unknown) => unknown;
  headers?: Record<string, string>;
  /** Whether it can be read a second time. */
  isReadable: boolean;
}

/** The parts of a form as bytes. */
async function* partsOf(form: Record<string, unknown>, boundary: string): AsyncGenerator<Uint8Array> {
  for (const [name, value] of Object.entries(form)) {
    if (value === undefined || value === null) continue;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`;
    if (isStream(value)) {
      yield encoder.encode(`${head}; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`);
      for await (const piece of value as AsyncIterable<Uint8Array>) yield piece;
      yield encoder.encode('\r\n');
    } else if (value instanceof Blob) {
      yield encoder.encode(
        `${head}; filename="${name}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`,
      );
      yield new Uint8Array(await value.arrayBuffer());
      yield encoder.encode('\r\n');
    } else {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      yield encoder.encode(`${head}\r\n\r\n${text}\r\n`);
    }
  }
  yield encoder.encode(`--${boundary}--\r\n`);
}

/** A stream of the values of a generator. The generator ends when the stream is cancelled. */
function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}

/**
 * Makes a file of a blob, bytes, or a stream, which is read to its end here. Use it to name a file, or to be able to
 * send a stream more than once.
 */
export async function toUpload(source: UploadSource, options: { name?: string; type?: string } = {}): Promise<File> {
  const parts: (Blob | Uint8Array<ArrayBuffer>)[] = [];
  if (isStream(source)) {
    for await (const piece of source as AsyncIterable<Uint8Array<ArrayBuffer>>) parts.push(piece);
  } else
    parts.push(source instanceof ArrayBuffer ? new Uint8Array(source) : (source as Blob | Uint8Array<ArrayBuffer>));
  const type = options.type ?? (source instanceof Blob ? source.type : '');
  return new File(parts, options.name ?? 'file', { type });
}

/** Prepares a form for sending. One with a stream is written as it is read, and cannot be repeated. */
export function prepareForm(form: object): PreparedForm {
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(form).map(([name, value]) => [
      name,
      value instanceof ArrayBuffer || value instanceof Uint8Array
        ? new Blob([value as Uint8Array<ArrayBuffer>])
        : value,
    ]),
  );
  if (!Object.values(values).some(isStream)) return { body: values, isReadable: true };
  const boundary = `atelier-${crypto.randomUUID()}`;
  return {
    body: values,
    bodySerializer: (body) => streamOf(partsOf(body as Record<string, unknown>, boundary)),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    isReadable: false,
  };
}
