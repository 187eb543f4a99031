import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { PieceCount } from '../../../src/platform/egress/collected-bytes.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { StorageFailure } from '../../../src/storage/failure.ts';
import type { Files } from '../../../src/storage/files.ts';
import type { Spooled } from '../../../src/storage/ports.ts';
import { refused } from '../../../src/voice/errors.ts';
import type { ApiContext } from '../../context.ts';
import { continueBody, isAwaitingContinue } from '../../requests/expect-continue.ts';

/** A recording on the local disk, and the fields of its form. Its receiver has to discard it. */
export interface Received {
  recording: Spooled;
  /** The other fields of the form, by their names. */
  fields: FormFields;
}

export type FormFields = Readonly<Record<string, string>>;

/** Maximum bytes of the recording, and of all other fields of its form together. */
const formLimits = { recording: 25 * 1024 * 1024, others: 1024 * 1024 } as const;

const limits = { fieldNameSize: 100, fieldSize: 1_000, fields: 100, parts: 200, headerPairs: 50, headerSize: 8_192 };

/** In place of a field that is a file, is given twice or is longer than a field may be: no field may be this. */
const unreadable = '-'.repeat(limits.fieldSize + 1);

/** How much of a refused form is read, and for how long: a client may see a reset in place of an answer otherwise. */
const linger = { bytes: 16 * 1024 * 1024, ms: 250 };

/** The names under which a form may have its recording: the published one, and OpenAI's. */
const recordingNames: readonly string[] = ['audio', 'file'];

const noRecording = () => refused('Audio file is required');
const broken = () => refused('Invalid request body');
/** A form in pieces so small that each of them costs more than it brings. */
class TooManyPieces extends Error {}

const tooLarge = () => new AppError('payload_too_large', 'Request too large');
const noForm = () => new AppError('unsupported_media_type', 'Send the recording as multipart/form-data.');

/** @throws AppError unsupported_media_type for anything but a form; validation_error for one without a boundary */
function parserFor(c: ApiContext): BusboyInstance {
  const type = c.req.header('content-type') ?? '';
  if (c.req.header('content-encoding') || !/^multipart\/form-data\s*(?:;|$)/i.test(type)) throw noForm();
  try {
    return new Busboy({ headers: { 'content-type': type }, limits });
  } catch {
    throw broken();
  }
}

/** Resolves when the whole form is parsed. The recording is handed to `take` as it arrives. */
function parse(
  parser: BusboyInstance,
  form: IncomingMessage,
  take: (recording: Readable) => Promise<unknown>,
): Promise<FormFields> {
  return new Promise((resolve, reject) => {
    const fields = new Map<string, string>();
    let isTaken = false;
    let bytes = 0;
    const pieces = new PieceCount();
    form.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (!pieces.add(piece.length)) {
        // At once: thousands of them may have come already.
        form.unpipe(parser);
        form.pause();
        reject(new TooManyPieces());
      }
      if (bytes > formLimits.recording + formLimits.others) reject(tooLarge());
    });
    // A form whose sender has hung up gives nothing more, even if all of it has arrived. If that was before, it gives no
    // event either.
    const hungUp = () => {
      if (!form.readableEnded) reject(broken());
    };
    if (form.closed) hungUp();
    form.once('close', hungUp);
    parser.on('file', (name, part) => {
      // The error goes to the reader, or to the parser.
      part.on('error', () => {});
      if (!recordingNames.includes(name)) {
        fields.set(name, unreadable);
        part.resume();
        return;
      }
      if (isTaken) {
        part.resume();
        reject(noRecording());
        return;
      }
      isTaken = true;
      take(part).catch((error) => reject(error instanceof AppError ? error : broken()));
    });
    parser.on('field', (name, value, _, isCut) => {
      if (recordingNames.includes(name)) reject(noRecording());
      fields.set(name, isCut || fields.has(name) ? unreadable : value);
    });
    parser.on('error', () => reject(broken()));
    // Parts after this number are not read: the language, or the recording itself.
    parser.on('partsLimit', () => reject(broken()));
    parser.on('fieldsLimit', () => reject(broken()));
    parser.on('finish', () => (isTaken ? resolve(Object.fromEntries(fields)) : reject(noRecording())));
    form.pipe(parser);
  });
}

/** Lets a refused form pass, within limits. */
async function discardRest(form: IncomingMessage): Promise<void> {
  if (form.complete) return;
  const stop = new AbortController();
  let left: number = linger.bytes;
  form.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left <= 0) stop.abort();
  });
  form.once('close', () => stop.abort());
  form.once('end', () => stop.abort());
  form.resume();
  await sleep(linger.ms, undefined, { signal: stop.signal, ref: false }).catch(() => {});
  form.pause();
}

/**
 * Receives a form with a recording. Memory is bounded by the buffers of one connection: the recording is written to the
 * local disk as it arrives. Data over a limit is refused as soon as it arrives.
 * @param signal aborted when the caller no longer waits
 * @throws AppError unsupported_media_type, payload_too_large; validation_error with a published sentence; StorageFailure; the
 *   reason of `signal`
 */
export async function receiveRecording(
  c: ApiContext,
  files: Pick<Files, 'receive' | 'discard'>,
  signal: AbortSignal,
): Promise<Received> {
  const { incoming: form, outgoing } = c.env as unknown as { incoming: IncomingMessage; outgoing: never };
  const parser = parserFor(c);
  continueBody(outgoing);
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  let writing: Promise<Spooled> | undefined;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  try {
    signal.throwIfAborted();
    const take = (part: Readable) => {
      writing = files.receive(part, { maxBytes: formLimits.recording, signal: either });
      return writing;
    };
    const fields = await Promise.race([parse(parser, form, take), aborted]);
    const recording = await writing!;
    if (recording.bytes === 0) throw noRecording();
    return { recording, fields };
  } catch (error) {
    form.unpipe(parser);
    parser.on('error', () => {});
    stop.abort();
    await writing?.then(
      (recording) => files.discard(recording),
      () => {},
    );
    if (error instanceof TooManyPieces) {
      // Nothing more of it is read: the connection ends with the answer.
      c.header('Connection', 'close');
      throw broken();
    }
    if (!isAwaitingContinue(outgoing)) await discardRest(form);
    throw error instanceof StorageFailure && error.reason === 'too_large' ? refused('File too large') : error;
  }
}
