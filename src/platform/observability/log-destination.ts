import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const bufferMs = 20;
const maxBufferLength = 64 * 1024;
const standardOutput = 1;

/** The message of the line that is logged per request. */
export const requestMessage = 'request';

/** Pino sets `lastMsg` and other fields on a stream that has this property. */
const metadata = Symbol.for('pino.metadata');

const retryWriteMs = 5;
const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/** Writes the whole text. Blocks while the reader is slow, because a buffer could grow without limit. */
function writeAll(text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(standardOutput, rest));
    } catch (error) {
      // The reader has closed; the error cannot be reported anywhere.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(sleepCell, 0, 0, retryWriteMs);
    }
  }
}

/**
 * Standard output. Lines are written immediately, so that a killed process loses none. Only the lines of requests are
 * collected for up to 20 ms, because a system call per line would be expensive.
 */
export function standardOutputLog(write: (text: string) => void = writeAll): DestinationStream & { flush(): void } {
  let buffered = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (buffered === '') return;
    const text = buffered;
    buffered = '';
    write(text);
  };
  process.on('exit', flush);
  const stream = {
    [metadata]: true,
    lastMsg: undefined as string | undefined,
    flush,
    write(line: string) {
      buffered += line;
      if (stream.lastMsg !== requestMessage || buffered.length > maxBufferLength) return flush();
      timer ??= setTimeout(flush, bufferMs).unref();
    },
  };
  return stream;
}
