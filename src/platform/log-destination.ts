import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const gatheredMs = 20;
const gatheredLength = 64 * 1024;
const standardOutput = 1;

/** The message of the one line that each request gets. */
export const requestMessage = 'request';

/** Pino tells a stream with this member what each line is. */
const metadata = Symbol.for('pino.metadata');

const napMs = 5;
const nap = new Int32Array(new SharedArrayBuffer(4));

/** Writes everything. A reader that does not keep up is waited for: the alternative is memory without end. */
function writeAll(text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(standardOutput, rest));
    } catch (error) {
      // Whoever read it is gone, and nobody is left to be told.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(nap, 0, 0, napMs);
    }
  }
}

/**
 * Standard output. A line is written at once, so that what a process said before a kill -9 is not lost, except the
 * lines of requests: they are gathered for 20 ms, because a system call each would cost more than writing them does.
 */
export function standardOutputLog(write: (text: string) => void = writeAll): DestinationStream & { flush(): void } {
  let gathered = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered === '') return;
    const text = gathered;
    gathered = '';
    write(text);
  };
  process.on('exit', flush);
  const stream = {
    [metadata]: true,
    lastMsg: undefined as string | undefined,
    flush,
    write(line: string) {
      gathered += line;
      if (stream.lastMsg !== requestMessage || gathered.length > gatheredLength) return flush();
      timer ??= setTimeout(flush, gatheredMs).unref();
    },
  };
  return stream;
}
